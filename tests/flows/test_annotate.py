"""Laws of runs that judge with a scripted model: paths, gold questions, and where a run ends.

Covers `flows.collect`, `flows.evaluate`, `flows.publish`, `tasks.stages.annotate.shards`,
`tasks.stages.candidates`, `tasks.stages.collect`, `tasks.stages.vectors`, `tasks.stages.labels`,
`tasks.stages.publish`, `tasks.stages.report`, `tasks.stages.standing`.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import ir_measures
import pytest

from tasks.stages.standing import query_counts
from tests.fakes.llm_server import ScriptedServer
from tests.flows.cases import CASES, script
from tests.flows.world import YES, Case, World, additions, environment, reading_world, screened


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(script()) as server:
        yield server


@pytest.fixture
def paths(folder: Path, model: ScriptedServer, prefect_server: str) -> World:
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


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("engine")
@pytest.mark.exhaustive
def test_every_path_through_algorithm_1_is_stored_and_a_second_run_repeats_only_failed_pairs(
    paths: World, model: ScriptedServer
) -> None:
    first = paths.run("benchmark")
    assert first.returncode == 0, first.stdout
    rows = paths_of(paths)
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
    exported_scores_are_those_of_an_independent_library(paths)

    calls_before = len(model.calls)
    second = paths.run("benchmark")
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


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("engine")
@pytest.mark.nightly
def test_new_queries_cost_only_their_own_pairs(paths: World, model: ScriptedServer) -> None:
    settled = ["clear_match", "clear_non_match", "unclear_passed"]
    paths.write([CASES[name] for name in settled])
    assert paths.run("annotate").returncode == 1, "nothing is collected yet"
    assert paths.run("collect").returncode == 0
    assert paths.run("annotate").returncode == 0
    calls_before = len(model.calls)
    added = Case("turn a string around", CASES["clear_match"].code + "\n", ())
    model.follow([*script(), screened("clear_match") | {"query": added.query}])
    paths._lines(
        "queries",
        [
            {"id": f"n{number}", "query": query}
            for number, query in enumerate([*(CASES[name].query for name in settled), added.query])
        ],
    )
    assert paths.run("collect").returncode == 0
    assert paths.run("annotate").returncode == 0
    assert [call["query"] for call in model.calls[calls_before:]] == [added.query]
    nothing = paths.run("annotate")
    assert "Nothing was left to do" in nothing.stdout
    assert len(model.calls) == calls_before + 1


MANY = additions(45)


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> World:
    world = reading_world(tmp_path_factory.mktemp("world"), "", prefect_server)
    world.write(MANY, labels=False)
    assert world.run("collect").returncode == 0
    return world


@pytest.fixture
def world(collected: World, folder: Path, agreeing: ScriptedServer) -> World:
    return collected.copy(folder, agreeing.base_url)


def judged(world: World) -> set[str]:
    return {str(query) for (query,) in world.rows("SELECT DISTINCT query_id FROM annotations")}


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_run_ends_once_the_first_methods_are_ranked_and_goes_on_where_they_are_not(
    world: World, agreeing: ScriptedServer
) -> None:
    methods = ("--method", "bm25", "--method", "bm25+bm25", "--until-ranked", "1")
    near = world.run("annotate", *methods, "--margin", "1")
    assert near.returncode == 0, near.stdout
    told = " ".join(near.stdout.split())
    assert "20 pairs judged; ranked after 20 queries, 20 with a match, by NDCG@10" in told
    assert "within the margin (+0.000" in told
    assert "the other 25 pairs are not judged; expected: tokens" in told
    assert len(agreeing.calls) == 20
    first = judged(world)

    world.run("annotate", *methods, "--margin", "1")
    assert len(agreeing.calls) == 20, "what is known is looked at, and nothing is paid"

    never = world.run("annotate", *methods, "--margin", "0")
    assert never.returncode == 0, never.stdout
    told = " ".join(never.stdout.split())
    assert "25 pairs judged; not ranked after 45 queries, 45 with a match" in told
    assert "no pair is left" in told
    assert first < judged(world)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("bound", "judged", "told"),
    [
        (
            ("--budget-usd", "0.033"),  # a pair costs 0.0013
            range(21, 26),
            (
                "not ranked, the budget is spent after 20 queries, 20 with a match, by NDCG@10: "
                "bm25 before bm25+bm25: open (+0.000"
            ),
        ),
        *(
            pytest.param(
                bound,
                range(1, 8),
                "not ranked, the budget is spent before the first 20 queries were judged",
                marks=pytest.mark.nightly,
            )
            for bound in (("--budget-usd", "0.01"), ("--set", "llm.budget_usd=0.01"))
        ),
        (
            ("--set", "reannotation.pairs=20"),
            range(20, 21),
            "not ranked, 20 pairs were asked for after 20 queries, 20 with a match",
        ),
    ],
)
def test_a_run_whose_means_end_midway_says_what_is_open_and_what_the_rest_would_cost(
    world: World, agreeing: ScriptedServer, bound: tuple[str, str], judged: range, told: str
) -> None:
    usage = {"prompt_tokens": 500, "completion_tokens": 2_000, "total_tokens": 2_500}
    agreeing.follow([YES | {"steps": [YES["steps"][0] | {"usage": usage}]}])
    world.env |= {"COSQA_LLM__MODEL": "openai/gpt-4o-mini", "COSQA_ANNOTATION__IN_FLIGHT": "1"}
    methods = ("--method", "bm25", "--method", "bm25+bm25", "--until-ranked", "1", "--margin", "0")
    ended = world.run("annotate", *methods, *bound)
    assert ended.returncode == 0, ended.stdout
    said = " ".join(ended.stdout.split())
    [(stored,)] = world.rows("SELECT count(*) FROM annotations")
    assert stored in judged
    assert f"{stored} pairs judged; {told}" in said
    rest = re.search(rf"the other {len(MANY) - int(str(stored))} pairs are not judged; (.*)", said)
    assert rest
    assert re.match(r"expected: tokens .*, cost .*\$0\.0", rest[1]), rest[1]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_run_that_must_wait_for_approval_is_refused(
    world: World, agreeing: ScriptedServer
) -> None:
    world.env["COSQA_OPERATION__APPROVE"] = "true"
    ended = world.run("annotate", "--until-ranked", "1")
    assert ended.returncode == 1
    assert "no plan that a person could approve" in " ".join(ended.stdout.split())
    assert not agreeing.calls


@pytest.mark.slow
def test_looks_come_after_handfuls_that_grow_and_end_with_all_queries() -> None:
    assert list(query_counts(101)) == [20, 30, 40, 50, 60, 72, 86, 101]
    assert list(query_counts(20)) == [20]
    assert list(query_counts(3)) == [3]


WRONG = "judged 3 of 6 pairs with known labels wrongly (3 false passes, 0 false fails, 0 without"


def test_a_model_that_fails_the_first_questions_judges_no_pair_and_its_labels_are_held(
    world: World, agreeing: ScriptedServer
) -> None:
    world.env["COSQA_ANNOTATION__GOLD_QUESTIONS"] = "12"
    ended = world.run("annotate")
    assert ended.returncode == 1
    assert WRONG in ended.stdout
    assert "`cosqa check-model --model NAME`" in ended.stdout
    assert len(agreeing.calls) == 6, "the first handful is paid, and nothing else"
    again = world.run("annotate")
    assert (again.returncode, WRONG in again.stdout, len(agreeing.calls)) == (1, True, 6)

    accepted = world.run("annotate", "--accept-gold")
    assert accepted.returncode == 0, accepted.stdout
    assert "45 pairs judged" in accepted.stdout, "gold questions are counted apart"
    held = world.run("publish")
    assert (held.returncode, "--accept-gold" in held.stdout) == (1, True)
    assert not (world.output / "jsonl-agents").exists()

    assert world.run("publish", "--accept-gold").returncode == 0
    exported = world.output / "jsonl-agents"
    manifest = json.loads((exported / "manifest.json").read_text("utf-8"))
    assert manifest["accepts_gold"]
    assert manifest["recipes"][0]["gold"]["false_passes"] == 6
    card = " ".join((exported / "README.md").read_text("utf-8").split())
    assert "Of 12 pairs with known labels, openai/scripted judged 6 wrongly" in card
    assert "published whatever these say (`--accept-gold`)" in card
    assert "accept_gold" not in (world.folder / "cosqa.toml").read_text("utf-8")


@pytest.mark.exhaustive
def test_a_model_that_passes_is_published_with_its_counts_and_no_remark(world: World) -> None:
    world.env |= {"COSQA_ANNOTATION__GOLD_QUESTIONS": "12", "COSQA_ANNOTATION__GOLD_LIMIT": "0.5"}
    assert world.run("annotate").returncode == 0
    assert world.run("publish").returncode == 0
    card = (world.output / "jsonl-agents" / "README.md").read_text("utf-8")
    assert "openai/scripted judged 3 wrongly" in " ".join(card.split())
    assert "--accept-gold" not in card
