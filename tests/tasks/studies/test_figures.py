"""The figures of each study on evidence that is small enough to check by hand.

Covers `tasks.studies._evidence` and `tasks.studies.*`.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from infra.errors import StudyError
from infra.summaries import PairCost
from tasks.studies import CollectionFacts, Figure, Mean, Missing, studies
from tests.fakes.studies import full_evidence

EXPECTED: dict[str, dict[tuple[str, str], tuple[float, int | None]]] = {
    "corpus": {
        ("queries", "items"): (40, None),
        ("functions read", "items"): (19_228, None),
        ("functions kept", "items"): (15_228, None),
        ("dropped: not testable", "items"): (4_000, None),
    },
    "overlap": {("unixcoder", "overlap"): (0.5, 40), ("codet5p", "overlap"): (0.125, 40)},
    "mismatched-pairs": {
        ("CoSQA's annotators", "share"): (0.48, 604),
        ("agents", "share"): (0.5, 20),
    },
    "matches-by-rank": {("rank 1", "share"): (0.5, 40), ("rank 2", "share"): (0.25, 40)},
    # 10 queries have no match, 15 one, 9 two, none three, 6 four: 40 in all.
    "matches-of-queries": {
        ("0 matches", "queries"): (10, None),
        ("0 matches", "share"): (0.25, 40),
        ("1 match", "queries"): (15, None),
        ("3 matches", "queries"): (0, None),
        ("4 matches", "share"): (0.15, 40),
    },
    # 30 codes answer one query, 8 two, 3 three, 1 twelve: 12 of 42 answer two or more.
    "queries-of-codes": {
        ("1 query", "codes"): (30, None),
        ("4 queries", "codes"): (0, None),
        ("10+ queries", "codes"): (1, None),
        ("2+ queries", "share"): (12 / 42, 42),
    },
    "size": {
        ("pairs", "benchmark"): (800, None),
        ("codes", "benchmark"): (500, None),
        ("mean characters of a code", "benchmark"): (321.5, 500),
        ("mean test cases of a program", "benchmark"): (4.5, 200),
        ("share of programs that run", "benchmark"): (0.75, 200),
    },
    "cost": {
        ("clear", "seconds of a pair"): (10.0, 600),
        ("unclear", "seconds of a pair"): (50.0, 200),
        ("unclear", "share of pairs"): (0.25, 800),
        ("clear", "dollars of a pair"): (0.0005, 600),
        ("all", "dollars of a pair"): (0.000625, 800),
        ("all", "dollars"): (0.5, 800),
        ("all", "pairs"): (800, None),
    },
    "rounds": {
        ("rounds 1 and 2", "Krippendorff's alpha"): (0.96, None),
        ("rounds 2 and 3", "Krippendorff's alpha"): (0.97, None),
    },
    "people": {
        ("preference", "share"): (0.65, 200),
        ("expert", "minutes of a pair"): (6.5, 30),
        ("expert with test program", "minutes of a pair"): (31.0, 20),
    },
    "annotators": {
        ("human without test program", "accuracy"): (0.75, 400),
        ("average human", "accuracy, 50 %"): (0.625, 100),
        ("average human", "accuracy, exact"): (0.875, 100),
        ("humans alone", "alpha with humans, 50 %"): (0.25, 100),
        ("humans alone", "alpha with humans, exact"): (0.375, 100),
        ("PS + TPG + TE + BF + FA", "accuracy"): (0.9, 400),
        ("agents", "accuracy"): (0.9, 400),
        ("Single LLM", "accuracy"): (0.8, 400),
        ("DeepSeek-V3", "accuracy"): (0.8, 400),
        ("GPT-4o", "accuracy, 50 %"): (0.6, 100),
        ("GPT-4o", "alpha with humans, 50 %"): (0.3, 100),
    },
    "retrieval": {
        ("bm25", "MRR@10"): (0.28, 30),
        ("bm25", "MAP-found@10"): (0.28, 30),
        ("somebody's", "MMRR"): (0.3, 30),
    },
    "matches-and-scores": {
        ("codebert", "MRR, 2 matches"): (0.405, 200),
        ("codet5p", "MAP, 5 matches"): (0.457, 500),
        ("Cronbach's alpha", "MMRR"): (0.955761, 3),
        ("variance, sample", "MMRR"): (0.00078, 3),
        ("variance, population", "MMRR"): (0.000585, 3),
    },
    "codesearchnet-annotations": {
        ("Python", "grade 0"): (1, None),
        ("Python", "grade 3"): (1, None),
        ("Python", "all"): (3, None),
        ("JavaScript", "grade 2"): (1, None),
        ("all", "all"): (4, None),
        ("Python", "right pairs"): (1, None),
        ("Python", "queries with one"): (1, None),
        ("JavaScript", "right pairs"): (0, None),
        ("all", "with a note"): (0, None),
        ("all", "graded twice or more"): (1, None),
        ("all", "Cohen's kappa, squared weights"): (0.0, 1),
    },
    "neural-code-search": {
        ("NCS", "Answered@1"): (0, 2),
        ("NCS", "Answered@5"): (1, 2),
        ("NCS", "MRR"): (0.1, 2),
    },
}


def computed(study: str, evidence: object) -> dict[tuple[str, str], Figure]:
    figures = studies.get(study)(evidence)  # type: ignore[arg-type]
    return {(figure.row, figure.column): figure for figure in figures}


@pytest.mark.parametrize("study", EXPECTED)
def test_the_figures_are_those_computed_by_hand(study: str, tmp_path: Path) -> None:
    figures = computed(study, full_evidence(tmp_path))
    for key, (value, n) in EXPECTED[study].items():
        assert figures[key].value == pytest.approx(value, abs=5e-6), key
        assert figures[key].n == n, key
        assert isinstance(figures[key].value, type(value)), f"{key}: a count is whole"


def test_every_study_has_a_case_here() -> None:
    assert set(EXPECTED) == set(studies)


def test_functions_read_are_functions_alone(tmp_path: Path) -> None:
    """Queries, labels and files that were left out have rows of their own, as stores name them."""
    functions = (
        "function equal to an earlier one", "function does not parse: Python 2 statement",
        "near duplicate", "no documentation", "empty function", "empty snippet",
    )  # fmt: skip
    others = (
        "query equal to an earlier one", "documentation that is no query",
        "paragraph that documents several functions", "pair that was not drawn",
        "label given twice", "label of a pair that has a higher one",
        "label of a dropped query or function", "query that is a plain technical keyword",
        "label of a function that is in no chosen source of codes", "file does not parse",
        "file whose name is not UTF-8", "commit that changes no function",
        "commit that changes more than three functions",
        "subject of fewer than three words, or of more than 200 characters",
        "subject that names its function", "written query that repeats another",
        "query of which the model wrote nothing readable",
        "written query of fewer than two words, of more than 200 characters, or with a hidden name",
        "written query that asks about a function instead of for one",
        "written query that shares its function's name, or more of its words than the bound",
        "written query that fits more functions than top_k",
    )  # fmt: skip
    facts = CollectionFacts(
        queries=3,
        codes=10,
        dropped=dict.fromkeys((*functions, *others), 2),
        documented={"go": (1, 2), "python": (3, 4)},
    )
    figures = computed("corpus", replace(full_evidence(tmp_path), collection=facts))
    assert figures["functions read", "items"].value == 10 + 2 * len(functions)
    assert all(figures[f"dropped: {reason}", "items"].value == 2 for reason in facts.dropped)
    assert figures["functions in go", "with documentation"].value == 1
    assert figures["functions in python", "all"].value == 7
    assert figures["functions in all languages", "with documentation"].value == 4
    assert figures["functions in all languages", "all"].value == 10


def test_an_unknown_cost_stays_unknown(tmp_path: Path) -> None:
    unpriced = {"all": PairCost(kind="all", pairs=2, seconds=4.0, dollars=None)}
    figures = computed("cost", replace(full_evidence(tmp_path), costs=unpriced))
    assert figures["all", "seconds of a pair"].value == 2.0
    for column in ("dollars of a pair", "dollars"):
        assert figures["all", column].value is None
        assert figures["all", column].note == "the cost of a call is unknown"


def test_a_benchmark_without_programs_says_so_in_their_rows_alone(tmp_path: Path) -> None:
    without = replace(full_evidence(tmp_path), programs=Missing(reason="none was run"))
    figures = computed("size", without)
    assert figures["pairs", "benchmark"].value == 800
    assert figures["share of programs that run", "benchmark"].note == "none was run"


def test_pairs_that_nobody_judged_are_missing_in_their_row_alone(tmp_path: Path) -> None:
    shares = {"CoSQA's annotators": Mean(value=0.5, n=2)}
    figures = computed("mismatched-pairs", replace(full_evidence(tmp_path), mismatches=shares))
    assert figures["CoSQA's annotators", "share"].value == 0.5
    assert figures["agents", "share"].value is None
    assert figures["agents", "share"].note.startswith("missing: ")


def test_alpha_needs_two_methods_with_all_four_groups(tmp_path: Path) -> None:
    evidence = full_evidence(tmp_path)
    one = {"bm25": {"MRR": {2: Mean(value=0.5, n=3), 7: Mean(value=1.0, n=1)}}}
    figures = computed("matches-and-scores", replace(evidence, group_scores=one))
    assert set(figures) == {("bm25", "MRR, 2 matches")}
    none = {"bm25": {"MRR": {1: Mean(value=0.5, n=3)}}}
    with pytest.raises(StudyError, match=r"no scored query .* has 2, 3, 4 or 5 matches"):
        computed("matches-and-scores", replace(evidence, group_scores=none))


def test_a_lone_encoder_is_its_own_ensemble(tmp_path: Path) -> None:
    lone = {"minilm": Mean(value=1.0, n=40)}
    figures = computed("overlap", replace(full_evidence(tmp_path), overlaps=lone))
    assert figures["minilm", "overlap"].note == "the only encoder"
