"""Laws of differences: nothing is missed, nothing made up, evidence stands behind each flip."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import SecretStr

from infra.records import Annotation, Code, ExecutionResult, Label, Pair, Query
from infra.settings import (
    AnnotationSettings,
    Configuration,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from sandbox.backends import backends
from tasks.benchmarks import Benchmark, write_benchmark
from tasks.inputs.formats.export import read_benchmark
from tasks.inputs.pairs import TruePair
from tasks.reports.diff import (
    Difference,
    ScoreChange,
    difference,
    difference_document,
    score_changes,
)
from tasks.reports.render import markdown_page
from tests.fakes.benchmarks import SOURCE
from tests.fakes.llm_server import KEY
from tests.fakes.sandbox import FAILED, PASSED, FakeSandbox
from tests.fakes.word_counter import WordCounter, judged
from tests.flows.cases import CASES
from tests.tasks.reports.cases import AFTER, BEFORE, PAIRS, TURNED, UNDECIDED, leaderboard

HALF_FOUND = ("sum numbers fast today", "count the vowels in a sentence")
QUERIES = tuple(Query.of(text) for text in (*HALF_FOUND, *(case.query for case in CASES.values())))
CODES = tuple(Code.of(case.code) for case in CASES.values())
TRUTH = [
    TruePair(pair=Pair(query=query, code=code), label=0, by_people={})
    for query in QUERIES
    for code in CODES
]


def page_of(change: Difference, scores: Sequence[ScoreChange] = ()) -> str:
    return markdown_page(difference_document(change, scores))


def test_a_version_does_not_differ_from_itself() -> None:
    change = difference(BEFORE, BEFORE)
    assert (change.flips, change.pairs_added, change.pairs_removed, change.recipe) == (
        (),
        (),
        (),
        {},
    )
    assert change.kept == 200


def test_turned_labels_have_the_evidence_of_both_versions() -> None:
    change = difference(BEFORE, AFTER)
    assert {(flip.query_id, flip.code_id) for flip in change.flips} == {PAIRS[n] for n in TURNED}
    assert change.kept == 200 - len(TURNED) - len(UNDECIDED)
    for flip in change.flips:
        assert flip.before == 1 - flip.after
        first, second = flip.evidence_before, flip.evidence_after
        assert first
        assert second
        assert (first.recipe_id, second.recipe_id) == ("r1", "r2")
        assert [run.result.outcome for run in first.executions] == [
            "passed" if flip.before else "assertion_failed"
        ]
        assert flip.code.startswith("def number_")
        assert second.path == ("unclear_passed" if flip.after else "unclear_failed_assertion")


def test_methods_have_no_change_where_no_query_is_scored_in_both_versions() -> None:
    board = leaderboard()
    unscored = {row.method: {key: {"q1": 0.5} for key in board.metrics} for row in board.rows}
    scored = {row.method: {key: {"q2": 0.5} for key in board.metrics} for row in board.rows}
    changes = score_changes(board, board, unscored, scored)
    assert changes == ()
    assert "Effect on the methods" not in markdown_page(
        difference_document(difference(BEFORE, AFTER), changes)
    )
    every = score_changes(board, board, scored, scored)
    assert len(every) == len(board.rows) * len(board.metrics)


def test_what_cannot_be_decided_any_more_is_said() -> None:
    change = difference(BEFORE, AFTER)
    assert change.pairs_removed == change.now_undecided == tuple(PAIRS[n] for n in UNDECIDED)


def test_of_the_recipe_only_what_changed_is_listed() -> None:
    assert difference(BEFORE, AFTER).recipe == {"model.model": ("small", "large")}


def test_added_and_removed_mirror_each_other() -> None:
    smaller = AFTER.model_copy(
        update={
            "queries": AFTER.queries[1:],
            "codes": AFTER.codes[:-1],
            "labels": AFTER.labels[20:],
        }
    )
    forth, back = difference(BEFORE, smaller), difference(smaller, BEFORE)
    assert forth.queries_removed == back.queries_added == (BEFORE.queries[0].query_id,)
    assert forth.codes_removed == back.codes_added == (BEFORE.codes[-1].code_id,)
    assert forth.pairs_removed == back.pairs_added
    assert forth.pairs_added == back.pairs_removed == ()
    assert len(forth.pairs_removed) == 21


def test_the_page_shows_flips_as_text() -> None:
    page = page_of(difference(BEFORE, AFTER))
    assert page.count("- before: arbiter, unclear") == len(TURNED)
    assert page.count("program 1 ") == 2 * len(TURNED)
    assert "<script>" not in page
    assert "| labelled pairs | 0 | 1 |" in page
    assert "3 turned, 196 kept, 1 now undecided; 67 relevant before, 68 after" in page


def test_code_that_holds_a_fence_cannot_break_out_of_its_block() -> None:
    fenced = "def f():\n    return '```'"
    renamed = [
        version.model_copy(
            update={
                "codes": tuple(code.model_copy(update={"text": fenced}) for code in version.codes)
            }
        )
        for version in (BEFORE, AFTER)
    ]
    assert f"````python\n{fenced}\n````" in page_of(difference(*renamed))


def ends(program: str, installed: frozenset[str]) -> ExecutionResult:
    return PASSED if "sum_of" in program else FAILED


def version(configuration: Configuration, server: WordCounter, folder: Path) -> Benchmark:
    """Return the pairs as a configuration labels them, written and read back."""
    settings = Settings(
        store=StoreSettings(folder=folder / "store"),
        llm=LanguageModelSettings(
            model="openai/word-counter", base_url=server.base_url, api_key=SecretStr(KEY)
        ),
        annotation=AnnotationSettings(configuration=configuration),
        sandbox=SandboxSettings(backend="made-up"),
    )
    made = judged(TRUTH, settings)
    origin = f"agents:{made[0].recipe_id}"
    benchmark = Benchmark(
        name=configuration,
        label_origin=origin,
        queries=QUERIES,
        codes=CODES,
        labels=tuple(_label(item, origin) for item in made),
        sources=(SOURCE,),
        recipe={"configuration": configuration},
        evidence=tuple(made),
    )
    write_benchmark(benchmark, folder / configuration)
    return read_benchmark(folder / configuration)


def _label(item: Annotation, origin: str) -> Label:
    assert item.label is not None
    return Label(query_id=item.query_id, code_id=item.code_id, origin=origin, relevance=item.label)


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Benchmark, Benchmark]:
    backends.register("made-up")(lambda settings: FakeSandbox(ends))
    try:
        with WordCounter() as server:
            return version("single", server, tmp_path), version("paper", server, tmp_path)
    finally:
        del backends._entries["made-up"]


def test_a_label_turns_by_a_program_and_only_where_one_ran(
    versions: tuple[Benchmark, Benchmark],
) -> None:
    change = difference(*versions)
    assert change.recipe == {"configuration": ("single", "paper")}
    assert change.kept + len(change.flips) == len(TRUTH) == 80
    turned = {(flip.query, flip.before, flip.after) for flip in change.flips}
    assert turned == {(HALF_FOUND[0], 0, 1), (HALF_FOUND[1], 1, 0)}
    for flip in change.flips:
        assert flip.evidence_before
        assert flip.evidence_after
        assert flip.evidence_before.path == "read_alone"
        assert not flip.evidence_before.executions
        (run,) = flip.evidence_after.executions
        assert run.result.outcome == ("passed" if flip.after else "assertion_failed")
        assert "from target import" in run.program
