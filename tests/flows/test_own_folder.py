"""The law of README's five lines: one's own folder, queries and model become a benchmark.

Where nothing is published, that command fails and says why, and so do those that come after it.

Covers `flows.publish`, `flows.evaluate`, `tasks.sources.source_code`.
"""

from pathlib import Path

import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import COSQA, World, environment

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
    env = environment(
        agreeing.base_url,
        PREFECT_API_URL=prefect_server,
        COSQA_ANNOTATION__CONFIGURATION="single",
        PREFECT_LOGGING_LEVEL="INFO",
    )
    world = World(folder, env)
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
