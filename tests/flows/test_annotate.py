"""Laws of whole runs with a scripted model and real boxes.

Covers `flows.collect`, `flows.evaluate`, `flows.publish`, `tasks.stages.annotate.shards`,
`tasks.stages.candidates`, `tasks.stages.collect`, `tasks.stages.vectors`, `tasks.stages.labels`,
`tasks.stages.publish`, `tasks.stages.report`.
"""

from collections.abc import Iterator
from pathlib import Path

import ir_measures
import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.cases import CASES, script
from tests.flows.world import Case, World, environment, screened

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.usefixtures("engine")]


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(script()) as server:
        yield server


@pytest.fixture
def world(folder: Path, model: ScriptedServer, prefect_server: str) -> World:
    world = World(folder, environment(model.base_url, PREFECT_API_URL=prefect_server))
    world.write(list(CASES.values()))
    return world


def paths_of(world: World) -> dict[str, tuple[object, ...]]:
    rows = world.rows(
        "SELECT q.text, path, status, label, decided_by, "
        "(SELECT count(*) FROM llm_calls c WHERE c.query_id = a.query_id), "
        "(SELECT list(outcome ORDER BY ordinal) FROM executions e WHERE e.query_id = a.query_id) "
        "FROM annotations a JOIN queries q USING (query_id)"
    )
    name_of = {case.query: name for name, case in CASES.items()}
    return {name_of[str(text)]: tuple(rest) for text, *rest in rows}


@pytest.mark.exhaustive
def test_every_path_through_algorithm_1_is_stored_and_a_second_run_repeats_only_failed_pairs(
    world: World, model: ScriptedServer
) -> None:
    first = world.run("benchmark")
    assert first.returncode == 0, first.stdout
    rows = paths_of(world)
    assert {name: row[0] for name, row in rows.items()} == {name: name for name in CASES}
    assert {name: row[1:4] for name, row in rows.items()} == {
        "clear_match": ("labelled", 1, "screener"),
        "clear_non_match": ("labelled", 0, "screener"),
        "unclear_passed": ("labelled", 1, "arbiter"),
        "unclear_mended_passed": ("labelled", 1, "arbiter"),
        "unclear_failed_assertion": ("labelled", 0, "arbiter"),
        "unclear_never_executable": ("labelled", 1, "arbiter"),
        "unreadable_reply": ("undecided", None, None),
        "model_unavailable": ("failed", None, None),
    }
    assert {name: row[5] for name, row in rows.items()} == {
        "clear_match": None,
        "clear_non_match": None,
        "unclear_passed": ["passed"],
        "unclear_mended_passed": ["import_error", "passed"],
        "unclear_failed_assertion": ["assertion_failed"],
        "unclear_never_executable": ["import_error"] * 4,  # at first, and in each of 2 + 1 rounds
        "unreadable_reply": None,
        "model_unavailable": None,
    }
    assert all(int(str(row[4])) >= 1 for row in rows.values()), "every pair keeps its calls"
    exported_scores_are_those_of_an_independent_library(world)

    calls_before = len(model.calls)
    second = world.run("benchmark")
    assert second.returncode == 0, second.stdout
    again = [call["query"] for call in model.calls[calls_before:]]
    assert set(again) == {CASES["model_unavailable"].query}, "only the failed pair is judged again"


def exported_scores_are_those_of_an_independent_library(world: World) -> None:
    measures = {
        "NDCG@10": ir_measures.nDCG @ 10,
        "MRR": ir_measures.RR,
        "MAP": ir_measures.AP,
        "Recall@10": ir_measures.R @ 10,
    }
    for benchmark in ("jsonl", "jsonl-agents"):
        folder = world.output / benchmark
        lines = (folder / "beir/qrels/test.tsv").read_text().splitlines()[1:]
        judged = [line.split("\t") for line in lines]
        qrels = [ir_measures.Qrel(query, code, int(relevance)) for query, code, relevance in judged]
        relevant = {qrel.query_id for qrel in qrels if qrel.relevance > 0}
        qrels = [qrel for qrel in qrels if qrel.query_id in relevant]
        for method in ("bag-of-words", "bm25", "minilm"):
            run = trec_run(folder / "runs" / f"{method}.trec")
            expected = ir_measures.calc_aggregate(measures.values(), qrels, run)
            stored: dict[object, object] = dict(
                world.rows(  # type: ignore[arg-type]
                    "SELECT metric, avg(value) FROM scores JOIN benchmarks USING (benchmark_id) "
                    "JOIN evaluations USING (benchmark_id, method_key) "
                    f"WHERE name = '{benchmark}' AND method = '{method}' GROUP BY metric"
                )
            )
            assert set(stored) >= set(measures)
            for name, measure in measures.items():
                assert stored[name] == pytest.approx(expected[measure], abs=1e-6)


def trec_run(file: Path) -> list[ir_measures.ScoredDoc]:
    fields = [line.split() for line in file.read_text().splitlines()]
    return [
        ir_measures.ScoredDoc(query, code, float(score)) for query, _, code, _, score, _ in fields
    ]


@pytest.mark.nightly
def test_new_queries_cost_only_their_own_pairs(world: World, model: ScriptedServer) -> None:
    settled = ["clear_match", "clear_non_match", "unclear_passed"]
    world.write([CASES[name] for name in settled])
    assert world.run("annotate").returncode == 1, "nothing is collected yet"
    assert world.run("collect").returncode == 0
    assert world.run("annotate").returncode == 0
    calls_before = len(model.calls)
    added = Case("turn a string around", CASES["clear_match"].code + "\n", ())
    model.follow([*script(), screened("clear_match") | {"query": added.query}])
    world._lines(
        "queries",
        [
            {"id": f"n{number}", "query": query}
            for number, query in enumerate([*(CASES[name].query for name in settled), added.query])
        ],
    )
    assert world.run("collect").returncode == 0
    assert world.run("annotate").returncode == 0
    assert [call["query"] for call in model.calls[calls_before:]] == [added.query]
    nothing = world.run("annotate")
    assert "Nothing was left to do" in nothing.stdout
    assert len(model.calls) == calls_before + 1
