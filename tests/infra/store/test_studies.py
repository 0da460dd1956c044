"""Aggregates over annotations, candidates and scores, against counts made by hand."""

from pathlib import Path

import pytest

from infra.collected import Collected
from infra.identity import BenchmarkId, CodeId, QueryId, RecipeId, SearchId
from infra.records import (
    Annotation,
    Candidate,
    Code,
    Execution,
    ExecutionResult,
    LanguageModelCall,
    Outcome,
    Query,
    SourceInfo,
)
from infra.store import Database, annotations, benchmarks, candidates, corpus, figures
from infra.store.benchmarks import Evaluation, GroupMean
from infra.subsets import Draw
from infra.summaries import PairCost, ProgramCounts, RankCounts
from tests.fakes.stores import empty_store, labels_by, store_like

SEARCH, RECIPE, BENCHMARK = SearchId("s"), RecipeId("r"), BenchmarkId("b")
LABELS = labels_by(SEARCH, [RECIPE])
QUERIES = tuple(Query.of(f"query {number}") for number in range(3))
CODES = tuple(Code.of(f"def f{number}(x):\n    return x") for number in range(2))
INFO = SourceInfo(name="made", licence="MIT", revision="1", location="here")
TESTS = "async def test_a():\n    pass\n\nclass T:\n    def test_b(self):\n        latest = 1\n"


def call(cost: float | None, *, cached: bool = False) -> LanguageModelCall:
    return LanguageModelCall(
        role="screener", attempt=1, model="m", prompt_digest="d", status="ok", cost_usd=cost,
        seconds=2.0, cached=cached,
    )  # fmt: skip


def run(outcome: Outcome, program: str, number: int) -> Execution:
    return Execution(
        round=number, program=program, result=ExecutionResult(outcome=outcome, seconds=0.5)
    )


def annotation(query: int, code: int, path: str, label: int | None, **more: object) -> Annotation:
    fields = {
        "query_id": QUERIES[query].query_id,
        "code_id": CODES[code].code_id,
        "recipe_id": RECIPE,
        "status": "undecided" if label is None else "labelled",
        "label": label,
        "path": path,
    }
    return Annotation.model_validate(fields | more)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """Three queries with two candidates each; the last pair is not annotated."""
    return store_like(_fill, tmp_path)


def _fill(database: Database) -> None:
    content = Collected(info=INFO, queries=QUERIES, codes=CODES)
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    candidates.record_search(database, SEARCH, "c", ["minilm"], 2)
    found = [
        Candidate(
            query_id=query.query_id, code_id=code.code_id, rank=rank, similarity=1, by_encoder={}
        )
        for query in QUERIES
        for rank, code in enumerate(CODES, 1)
    ]
    candidates.add_candidates(database, SEARCH, found)
    mended = (run("import_error", "import x", 0), run("passed", TESTS, 1))
    judged = [
        annotation(0, 0, "clear_match", 1, calls=(call(0.25), call(0.25, cached=True))),
        annotation(1, 0, "clear_non_match", 0, calls=(call(0.5),)),
        annotation(2, 0, "unclear_mended_passed", 1, calls=(call(None),), executions=mended),
        annotation(0, 1, "unclear_passed", 0, executions=(run("raised", "def test_c(): 1", 0),)),
        annotation(1, 1, "unreadable_reply", None, calls=(call(1.0),)),
    ]
    annotations.add_annotations(database, judged)


def test_labels_are_counted_by_rank_without_the_undecided(database: Database) -> None:
    assert figures.count_by_rank(database, SEARCH, LABELS) == [
        RankCounts(rank=1, labelled=3, matches=2),
        RankCounts(rank=2, labelled=1, matches=0),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_of_drawn_queries_alone_labels_are_counted_by_rank(database: Database, seed: int) -> None:
    draw = Draw(1, seed)
    (of_query,) = draw.of(query.query_id for query in QUERIES)
    first = [1, 0, 1][[query.query_id for query in QUERIES].index(QueryId(of_query))]
    counted = figures.count_by_rank(database, SEARCH, LABELS, draw)
    assert counted[0] == RankCounts(rank=1, labelled=1, matches=first)


def test_effort_is_that_of_all_calls_and_runs_and_a_cost_is_unknown_if_one_is(
    database: Database,
) -> None:
    assert figures.pair_costs(database, LABELS) == [
        PairCost(kind="clear", pairs=2, seconds=6.0, dollars=1.0),
        PairCost(kind="other", pairs=1, seconds=2.0, dollars=1.0),
        PairCost(kind="unclear", pairs=2, seconds=2.0 + 1.0 + 0.5, dollars=None),
    ]
    assert figures.pair_costs(database, labels_by("another", [RECIPE])) == []


def test_installations_count_and_pairs_share_what_was_asked_of_their_query(
    database: Database,
) -> None:
    shared = call(1.0).model_copy(update={"prompt_digest": "of the query"})
    judged = [
        annotation(0, code, "claims_hold", 1, calls=(shared,), seconds=taken)
        for code, taken in enumerate((90.0, 0.0))
    ]
    annotations.add_annotations(database, judged)
    found = {item.kind: item for item in figures.pair_costs(database, LABELS, ["screener"])}
    assert found["by claims"] == PairCost(kind="by claims", pairs=2, seconds=91.0, dollars=1.0)


def test_of_programs_the_last_of_each_pair_counts(database: Database) -> None:
    executed = ["passed", "assertion_failed"]
    assert figures.count_programs(database, LABELS, executed) == ProgramCounts(
        programs=2, tests=3, executed=1
    )
    none = ProgramCounts(programs=0, tests=0, executed=0)
    assert figures.count_programs(database, labels_by(SEARCH, ["another"]), executed) == none


@pytest.mark.parametrize(
    ("program", "tests"),
    [
        ("function test_a() {}\nasync function test_b() {}\nconst test_c = () => {};\n", 3),
        ("function test_a() {\n  const test = 1;\n}\nfunction other() {}\n", 1),
        ("func TestA(t *testing.T) {\n\tother()\n}\n\nfunc TestB(t *testing.T) {}\n", 2),
        ("func testdata() {}\n// func Test\n", 0),
    ],
)
def test_tests_in_javascript_and_go_are_counted(
    database: Database, program: str, tests: int
) -> None:
    judged = annotation(2, 1, "unclear_passed", 1, executions=(run("passed", program, 0),))
    annotations.add_annotations(database, [judged])
    counted = figures.count_programs(database, LABELS, ["passed"])
    assert counted == ProgramCounts(programs=3, tests=3 + tests, executed=2)


def test_candidates_come_by_query(database: Database) -> None:
    wanted = [QUERIES[2].query_id, QueryId("unknown")]
    found = candidates.candidates_of(database, SEARCH, wanted)
    expected: set[CodeId] = {code.code_id for code in CODES}
    assert {query: set(codes) for query, codes in found.items()} == {wanted[0]: expected}


def test_scores_are_averaged_by_method_metric_and_number_of_matches(database: Database) -> None:
    for method, values in (("bm25", (0.5, 1.0, 0.25)), ("minilm", (1.0, 1.0, 1.0))):
        scores = dict(zip("abc", values, strict=True))
        evaluation = Evaluation(
            benchmark_id=BENCHMARK, method=method, method_key=method, depth=10, seconds=1.0
        )
        benchmarks.add_scores(database, evaluation, {"MRR": scores, "MAP": scores})
    matches = {"a": 2, "b": 2, "c": 3, "without scores": 4}
    assert benchmarks.group_means(database, BENCHMARK, ["bm25"], ["MRR"], matches) == [
        GroupMean(method="bm25", metric="MRR", matches=2, value=0.75, queries=2),
        GroupMean(method="bm25", metric="MRR", matches=3, value=0.25, queries=1),
    ]


def test_pairs_that_claims_decide_are_a_kind_of_their_own(database: Database) -> None:
    judged = [annotation(0, 0, "claims_hold", 1), annotation(1, 0, "claims_disputed", 0)]
    annotations.add_annotations(database, judged)
    kinds = {item.kind: item.pairs for item in figures.pair_costs(database, LABELS)}
    assert kinds == {"by claims": 2, "other": 1, "unclear": 2}


def test_codes_are_counted_by_language_with_and_without_documentation(tmp_path: Path) -> None:
    languages = ("go", "go", "", "python")
    codes = tuple(
        Code.of(f"f{n}", language=language, documentation="Told." if n % 2 else "")
        for n, language in enumerate(languages)
    )
    database = empty_store(tmp_path)
    content = Collected(info=INFO, queries=QUERIES, codes=codes)
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    assert corpus.documented_by_language(database, "c") == {"go": (1, 1), "python": (1, 1)}
    assert corpus.documented_by_language(database, "other") == {}
