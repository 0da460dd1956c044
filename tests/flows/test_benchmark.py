"""Laws of whole pipelines: the packaged sample, a real model, and each thing done once in a run.

    COSQA_LOCAL_MODEL=http://127.0.0.1:8080/v1 pytest -m nightly tests/flows/test_benchmark.py

judges by a real model. Right labels are not asked for: `cosqa check-model` says how many it gives.
"""

import csv
import os
import pstats
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from agents import check_model
from sandbox.backends import make_sandbox
from tasks.ranking.methods import Ranker
from tasks.retrievers import retrievers
from tasks.runtime.input_checks import check, check_source
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.candidates import search_identity
from tasks.stages.preflight import check_agents
from tasks.stages.scoring import OpenBenchmark, score_method
from tests.fakes.llm_server import ScriptedServer
from tests.flows.cases import CASES, script
from tests.flows.world import COSQA, World, bare_world, environment

pytestmark = [
    pytest.mark.docker, pytest.mark.slow(400), pytest.mark.nightly,
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


# Query, code, label and path of each pair, as judged when the replies were recorded.
RECORDED = Path(__file__).with_name("sample_labels.tsv")
# What the pages say of the run, which `tests.test_statements` compares with them.
NUMBERS = Path(__file__).with_name("sample_numbers.toml")
_SCORES = """
    SELECT method, metric, round(avg(value), 4), count(*) FROM scores
    JOIN evaluations USING (benchmark_id, method_key) JOIN benchmarks USING (benchmark_id)
    WHERE name = 'stdlib-sample-agents' AND metric IN ('MAP', 'MRR', 'NDCG@10', 'Recall@10')
    GROUP BY ALL ORDER BY ALL
"""


@pytest.mark.nightly
def test_the_default_run_gives_the_recorded_labels_as_a_multi_choice_benchmark_with_evidence(
    folder: Path,
) -> None:
    world = bare_world(folder)
    command = world.command_on_folder("benchmark")

    done = world.finish_alone(command)
    assert done.returncode == 0, done.stdout
    with RECORDED.open(encoding="utf-8", newline="") as file:
        recorded = [tuple(row) for row in csv.reader(file, delimiter="\t")]
    assert len(recorded) == 200
    assert recorded == world.rows(
        "SELECT query_id, code_id, label::VARCHAR, path FROM annotations ORDER BY ALL"
    )

    exported = world.output / "stdlib-sample-agents"
    labels = pq.read_table(exported / "labels.parquet").to_pylist()
    matches = Counter(item["query_id"] for item in labels if item["relevance"] > 0)
    assert sum(number > 1 for number in matches.values()) >= 10
    evidence = pq.read_table(exported / "evidence.parquet").to_pylist()
    assert numbers(world, matches, evidence) == tomllib.loads(NUMBERS.read_text("utf-8"))
    assert len(evidence) == len(labels) == 200
    assert all(item["executions"] or item["support"] == "screened" for item in evidence)
    assert "AI assistants" in (exported / "README.md").read_text("utf-8")
    scored = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    assert {*retrievers, "minilm"} <= scored

    again = world.finish_alone(command)
    assert again.returncode == 0, again.stdout
    assert "Nothing was left to do" in again.stdout


def numbers(world: World, matches: Counter[str], evidence: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the run's numbers, as they are recorded."""
    counts: list[Any] = world.rows(
        "SELECT (SELECT count(*) FROM collection_queries), (SELECT count(*) FROM collection_codes)"
    )
    ((queries, functions),) = counts
    rows: list[Any] = world.rows(_SCORES)
    (scored_queries,) = {count for *_, count in rows}
    scores: dict[str, dict[str, float]] = {}
    for method, metric, mean, _ in rows:
        scores.setdefault(method, {})[metric] = mean
    by_matches = Counter(matches.values())
    return {
        "queries": queries,
        "functions": functions,
        "pairs": len(evidence),
        "matches": matches.total(),
        "queries_by_matches": [
            queries - len(matches),
            *(by_matches[n] for n in sorted(by_matches)),
        ],
        "scored_queries": scored_queries,
        "support": dict(Counter(item["support"] for item in evidence)),
        "scores": scores,
    }


ADDRESS = os.environ.get("COSQA_LOCAL_MODEL", "")


@pytest.mark.skipif(not ADDRESS, reason="COSQA_LOCAL_MODEL names no server of a real model")
def test_pairs_are_judged_to_the_end_and_no_reply_is_asked_for_twice(
    folder: Path, prefect_server: str
) -> None:
    env = environment(
        ADDRESS,
        PREFECT_API_URL=prefect_server,
        COSQA_LLM__MODEL="openai/local",
        COSQA_ANNOTATION__CONFIGURATION="spec",
    )
    del env["COSQA_LLM__MAX_RETRIES"], env["COSQA_ANNOTATION__MAX_TRY_TIME"]
    world = World(folder, env)
    world.write(list(CASES.values()))
    ran = world.run_alone("benchmark")
    assert ran.returncode == 0, ran.stdout
    statuses = [str(status) for (status,) in world.rows("SELECT status FROM annotations")]
    assert len(statuses) == len(CASES), ran.stdout
    assert "failed" not in statuses, "a slow reply is no failure"
    asked = "SELECT count(*), count(DISTINCT prompt_digest) FROM llm_calls WHERE NOT cached"
    [(sent, distinct)] = world.rows(asked)
    assert sent == distinct
    assert world.run_alone("benchmark").stdout.count("Nothing was left to do") == 1
    assert world.rows(asked) == [(sent, distinct)]
