"""Laws of the whole pipeline: each thing is derived, checked and scored once in a run."""

import pstats
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents import check_model
from sandbox.backends import make_sandbox
from tasks.ranking.methods import Ranker
from tasks.runtime.checked import check
from tasks.runtime.input_checks import check_source
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.candidates import search_identity
from tasks.stages.preflight import check_agents
from tasks.stages.scoring import OpenBenchmark, score_method
from tests.fakes.llm_server import ScriptedServer
from tests.flows.cases import CASES, script
from tests.flows.world import COSQA, World, environment

pytestmark = [
    pytest.mark.docker, pytest.mark.slow(300), pytest.mark.nightly,
    pytest.mark.usefixtures("engine"),
]  # fmt: skip

METHODS = 7  # six lexical ones and the encoder

# The command asks the model and the engine; the flow, which checks too, is handed what it found.
ASKED: dict[Callable[..., Any], int] = {
    check_model: 1, check_agents: 2, current_recipe: 1, make_sandbox: 1,
}  # fmt: skip

READ_CONTENT: Callable[..., Any] = vars(OpenBenchmark)["content"].func


# Runs the command that follows it, each of its threads with a profile.
PROFILED = """
import cProfile, pstats, runpy, sys, threading
profiles = []
def profile(*_):
    profiles.append(cProfile.Profile())
    profiles[-1].enable()
file, *sys.argv = sys.argv[1:]
threading.setprofile(profile)
profile()
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    stats = pstats.Stats()
    for one in profiles:
        one.snapshot_stats()
        if one.stats:
            stats.add(one)
    stats.dump_stats(file)
"""


class Profile:
    """Calls of a finished command, in all of its threads."""

    def __init__(self, file: Path) -> None:
        self._stats: dict[tuple[str, int, str], Any] = pstats.Stats(str(file)).stats  # type: ignore[attr-defined]

    def _entry(self, function: Callable[..., Any]) -> tuple[str, int, str]:
        code = function.__code__
        return code.co_filename, code.co_firstlineno, code.co_name

    def calls(self, function: Callable[..., Any]) -> int:
        return int(self._stats.get(self._entry(function), (0,))[0])

    def callers(self, function: Callable[..., Any]) -> set[tuple[str, str]]:
        entry = self._stats.get(self._entry(function))
        return {(Path(file).name, name) for file, _, name in entry[4]} if entry else set()


def profiled(world: World, command: list[str]) -> tuple[str, Profile]:
    file = world.folder / "profile"
    ended = world.finish_alone([sys.executable, "-c", PROFILED, str(file), *command])
    assert ended.returncode == 0, ended.stdout
    return ended.stdout, Profile(file)


def test_a_run_derives_checks_and_scores_once_and_later_runs_rank_nothing_again(
    folder: Path, prefect_server: str
) -> None:
    cases = {name: CASES[name] for name in ("clear_match", "clear_non_match")}
    with ScriptedServer(script(cases)) as model:
        world = World(folder, environment(model.base_url, PREFECT_API_URL=prefect_server))
        world.write(list(cases.values()))
        _, first = profiled(world, world.command("benchmark"))
        assert first.calls(search_identity) == 1
        assert {function: first.calls(function) for function in ASKED} == ASKED
        for once in (check, check_source):
            assert first.calls(once) == 1, "the command hands its inputs on"
        assert first.callers(Ranker.rank) == {("scoring.py", "rank_with_progress")}
        assert first.calls(Ranker.rank) == 2 * METHODS, "each method on each export"
        assert first.calls(READ_CONTENT) == 2, "each export is read once"

        runs = {file: file.stat().st_mtime_ns for file in world.output.glob("*/runs/*.trec")}
        assert len(runs) == 2 * METHODS
        places = ["--store", str(world.store), "--output", str(world.output)]
        options = ["--benchmark", str(world.output / "jsonl")]
        _, again = profiled(world, [COSQA, "leaderboard", *options, *places])
        assert again.calls(Ranker.rank) == 0
        assert {file: file.stat().st_mtime_ns for file in runs} == runs
        assert sorted(world.output.glob("**/*.trec")) == sorted(runs), "one run file a method"
        assert world.rows("SELECT count(*) FROM evaluations") == [(2 * METHODS,)]

        output, second = profiled(world, world.command("benchmark"))
        assert "Nothing was left to do" in output
        assert second.calls(score_method.fn) == 0, "Prefect's cache answers"
        assert second.calls(READ_CONTENT) == 0
