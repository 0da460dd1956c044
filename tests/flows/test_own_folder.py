"""Laws of one's own code: README's five lines make a benchmark of it, with queries or without.

Covers `flows.publish`, `flows.evaluate`, `flows.collect`, `tasks.sources.source_code`,
`tasks.corpus.written`, `tasks.stages.generate.queries`.
"""

from collections import Counter
from pathlib import Path

import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import COSQA, World, read, reading_world, rule

pytestmark = pytest.mark.slow


CODE = """
def gcd(first, second):
    while second:
        first, second = second, first % second
    return first


def lcm(first, second):
    product = first * second
    return product // gcd(first, second)
"""


def told(world: World, *words: str) -> tuple[int, str]:
    """Return the exit status of a command, and the last sentence that it printed."""
    done = world.finish([COSQA, *words])
    print(done.stdout)
    return done.returncode, done.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("has_licence", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
def test_the_five_lines_of_the_readme_export_what_a_licence_permits(
    folder: Path, agreeing: ScriptedServer, prefect_server: str, *, has_licence: bool
) -> None:
    told_more = {"PREFECT_LOGGING_LEVEL": "INFO"}
    world = reading_world(folder, agreeing.base_url, prefect_server, **told_more)
    (folder / ".git").mkdir()
    (folder / "src").mkdir()
    (folder / "src" / "numbers.py").write_text(CODE)
    (folder / "my-queries.txt").write_text("greatest common divisor\nleast common multiple\n")
    if has_licence:
        (folder / "LICENSE").write_text("MIT License\n")
    source = ("--path", "src/", "--queries", "my-queries.txt", "--collection", "mine")
    assert told(world, "collect", *source)[0] == 0
    status, last = told(world, "leaderboard")
    assert (status, last.endswith("has none, since no pair is judged: run `cosqa annotate`")) == (
        1,
        True,
    )
    assert told(world, "annotate") == (0, "mine: 4 pairs judged")
    exported = f"benchmark mine-agents: {folder / 'cosqa-benchmarks' / 'mine-agents'}"
    if has_licence:
        assert told(world, "publish") == (0, exported)
        status, last = told(world, "leaderboard", "--method", "bm25")
        assert (status, last.startswith("leaderboard: ")) == (0, True)
        return
    status, last = told(world, "publish")
    assert status == 1
    assert last.startswith("error: there is no benchmark of mine: the licence of all code with")
    assert last.endswith("add a LICENSE to its folder or repository, or give --include-unlicensed "
                         "for private use")  # fmt: skip
    assert told(world, "evaluate") == (status, last)
    status, last = told(world, "leaderboard")
    assert status == 1
    assert last.endswith(
        "its labels are not exported: run `cosqa publish`, which says what is in the way"
    )
    assert told(world, "publish", "--include-unlicensed") == (0, exported)


WORDS = ("apples", "pears", "plums", "figs", "dates", "limes", "nuts", "peas", "beans", "corn")
AT_ONCE = 4


def script() -> list[dict[str, object]]:
    writers = [
        rule("query_writer", {"delay_s": 0.3, "reply": {
            "purpose": word, "keywords": f"weigh {word}", "question": f"How heavy are {word}?",
        }}) | {"code": f"the {word}"}
        for word in WORDS
    ]  # fmt: skip
    right = [read("answers") | {"query": f"weigh {word}", "code": f"the {word}"} for word in WORDS]
    return [*writers, *right, read("does_not_answer") | {"query": "*"}]


def command(world: World, name: str, *options: str) -> list[str]:
    return [
        COSQA, name, "--path", str(world.source), "--queries", "written", "--collection", "fruit",
        "--top-k", "3", "--store", str(world.store), *options,
    ]  # fmt: skip


@pytest.mark.exhaustive
def test_a_benchmark_of_code_without_queries_pays_once_for_each(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer(script()) as model:
        world = reading_world(folder, model.base_url, prefect_server)
        world.source.mkdir()
        (world.source / "LICENSE").write_text("MIT License\n")
        for number, word in enumerate(WORDS):
            text = f"def of_{number}(x):\n    '''Return the {word}.'''\n    return x + {number}\n"
            (world.source / f"m{number}.py").write_text(text)
        collect = command(world, "collect")
        world.kill_command_when(collect, lambda: len(model.answered) >= 5)
        done = world.finish(collect)
        assert done.returncode == 0, done.stdout
        assert "20 queries written for 10 functions" in done.stdout
        answered = Counter(call["code"] for call in model.answered)
        assert len(answered) == len(WORDS)
        assert answered.total() <= len(WORDS) + AT_ONCE, "what was on the wire"
        again = world.finish(collect)
        assert "Nothing was left to do" in again.stdout
        judged = world.finish(command(world, "benchmark", "--output", str(world.output)))
        assert judged.returncode == 0, judged.stdout
        assert model.count("query_writer") == answered.total(), "another command asks none again"
    origins = "regexp_extract(origin, '(c[0-9a-f]{32})', 1)"
    of_queries = f"SELECT query_id, {origins} FROM collection_queries"
    judged_pairs = "SELECT query_id, code_id FROM annotations"
    assert world.rows(f"{of_queries} EXCEPT {judged_pairs}") == [], (
        "all functions that they come from are judged"
    )
    own = world.rows("SELECT count(*) FROM votes WHERE annotator = ''")
    assert own == [(0,)], "where a query comes from is no label"
    assert {path.name for path in world.output.glob("fruit-*")} == {"fruit-agents"}
    board = world.finish(
        world.command_on_folder(
            "leaderboard", "--benchmark", str(world.output / "fruit-agents"), "--method", "bm25"
        )
    )
    assert board.returncode == 0, board.stdout
