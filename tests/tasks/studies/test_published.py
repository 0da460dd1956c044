"""What follows from the published figures by arithmetic does follow from how they are typed."""

import numpy as np
import pytest

from tasks.statistics.agreement import average_variance, cronbach_alpha
from tasks.studies import PublishedFigure, paper_data
from tests.fakes.studies import BY_MATCHES


def typed(study: str, place: str = "", paper: str = "") -> dict[tuple[str, str], PublishedFigure]:
    return {
        (figure.row, figure.column): figure
        for figure in paper_data().figures
        if figure.study == study and place in figure.place and paper in figure.paper
    }


def value(study: str, row: str, column: str, place: str = "", paper: str = "") -> float:
    return typed(study, place, paper)[row, column].value


@pytest.mark.parametrize("metric", BY_MATCHES)
def test_alpha_and_variances_follow_from_the_rows_of_tables_6_to_8(metric: str) -> None:
    names = {"unixcoder": "UniXcoder", "codet5p": "CodeT5+", "codebert": "CodeBERT"}
    table = np.array(
        [
            [value("matches-and-scores", row, f"{metric}, {n} matches") for n in (2, 3, 4, 5)]
            for row in names.values()
        ]
    )
    assert table.tolist() == [list(BY_MATCHES[metric][ours]) for ours in names]
    printed = value("matches-and-scores", "Cronbach's alpha", metric)
    assert cronbach_alpha(table.T) == pytest.approx(printed, abs=5e-4 if metric == "MMRR" else 5e-5)
    for ddof, name in ((1, "sample"), (0, "population")):
        derived = value("matches-and-scores", f"variance, {name}", metric, "derived")
        digits = 5e-6 if metric == "MMRR" else 5e-5
        assert average_variance(table, ddof=ddof) == pytest.approx(derived, abs=digits)


def test_pairs_are_queries_times_candidates_and_generated_codes() -> None:
    queries = value("corpus", "queries", "items")
    without = value("matches-of-queries", "0 matches", "queries")
    assert value("size", "pairs", "benchmark", paper="v2") == queries * 20
    assert value("size", "pairs", "benchmark", paper="v1") == queries * 5 + without
    share = value("matches-of-queries", "0 matches", "share")
    assert without / queries == pytest.approx(share, abs=5e-5)


def test_half_of_cosqas_pairs_do_not_match_by_the_strict_guideline() -> None:
    assert value("mismatched-pairs", "agents", "share", paper="v1") == 0.51


def test_the_cost_of_all_pairs_is_that_of_one_times_their_number() -> None:
    pairs = value("size", "pairs", "benchmark", paper="v2")
    each, total = (value("cost", "all", column) for column in ("dollars of a pair", "dollars"))
    assert pairs * each == pytest.approx(total, abs=pairs * 5e-6)


def test_codesearchnets_rows_add_up() -> None:
    grades = typed("codesearchnet-annotations")
    languages = {row for row, column in grades if column == "grade 0"}
    for language in languages:
        parts = [grades[language, f"grade {grade}"].value for grade in range(4)]
        assert sum(parts) == grades[language, "all"].value
    total = sum(grades[language, "all"].value for language in languages)
    assert total == grades["all", "all"].value
    corpus = typed("corpus", paper="csn")
    every = "functions in all languages"
    for column in ("with documentation", "all"):
        rows = [each.value for (row, of), each in corpus.items() if of == column and row != every]
        assert sum(rows) == corpus[every, column].value
    python = corpus["functions in python", "all"].value
    assert python == value("corpus", "functions read", "items")


def test_the_single_model_of_table_vi_is_that_of_table_iv_and_the_agents_are_its_last_row() -> None:
    table = typed("annotators", paper="v2")
    assert table["Single LLM", "accuracy"].value == table["DeepSeek-V3", "accuracy"].value
    assert table["PS + TPG + TE + BF + FA", "accuracy"].value == table["agents", "accuracy"].value


def test_the_second_version_has_map_above_recall_in_all_rows_so_it_is_not_our_map() -> None:
    scores = {key: figure.value for key, figure in typed("retrieval", paper="v2").items()}
    methods = {method for method, _ in scores}
    assert len(methods) == 8
    assert all(scores[method, "MAP@10"] > scores[method, "Recall@10"] for method in methods)
