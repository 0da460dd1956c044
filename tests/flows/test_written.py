"""Laws of code without queries: killed or not, a model is asked once, and a benchmark comes of it.

Covers `tasks.corpus.written`, `tasks.stages.generate.queries`, `flows.collect`.
"""

from collections import Counter
from pathlib import Path

import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import COSQA, World, environment, read, rule

pytestmark = pytest.mark.slow

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


def test_a_benchmark_of_code_without_queries_pays_once_for_each(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer(script()) as model:
        more = {"PREFECT_API_URL": prefect_server, "COSQA_ANNOTATION__CONFIGURATION": "single"}
        world = World(folder, environment(model.base_url, **more))
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
