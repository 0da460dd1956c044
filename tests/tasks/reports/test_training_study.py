"""Laws of the training study's report: its figures, its tables, and those that papers print."""

from collections.abc import Sequence

import numpy as np
import pytest

from tasks.reports.document import plain_text
from tasks.reports.render import html_page, markdown_page
from tasks.reports.text import NONE
from tasks.reports.training import (
    Place,
    TrainingStudyReport,
    figure_tables,
    training_figures,
    training_study_document,
)
from tasks.statistics import Values
from tasks.statistics.intervals import bootstrap_interval
from tasks.studies import paper_data

BASE = "codebert-search"
NAMES = ("none", "cosqa", "cosqa-plus")


def values_of(place: Place, seed: int) -> dict[str, Values]:
    rng = np.random.default_rng([NAMES.index(place.data), seed])
    values = {"MRR": rng.random(9), "NDCG@10": rng.random(9)}
    if place.data != "none":
        values |= {"dev MRR": rng.random(1), "pairs": np.array([1234.0])}
    return values


def report(seeds: int = 3, test: str = "bench") -> TrainingStudyReport:
    places = [Place(test or name, BASE, name) for name in NAMES[1:]]
    tested = [(Place(test, BASE), values_of(Place(test, BASE), 0))] if test else []
    tested += [(place, values_of(place, seed)) for place in places for seed in range(seeds)]
    return TrainingStudyReport(seeds=tuple(range(seeds)), figures=training_figures(tested))


def means(data: str, seeds: int = 3) -> Values:
    place = Place("bench", BASE, data)
    return np.array([values_of(place, seed)["MRR"].mean() for seed in range(seeds)])


def interval(found: TrainingStudyReport, data: str, less: str = "") -> tuple[float, float, float]:
    (it,) = (
        each.interval
        for each in found.figures
        if (each.place.data, each.less, each.name) == (data, less, "MRR")
    )
    return it.mean, it.low, it.high


def test_several_seeds_have_students_interval_of_scores_gains_and_differences() -> None:
    before, first, second = (means(name, 1 if name == "none" else 3) for name in NAMES)
    for of, own in (
        (("cosqa", ""), first),
        (("cosqa", "none"), first - before),
        (("cosqa-plus", "cosqa"), second - first),
    ):
        half = 4.302653 * own.std(ddof=1) / np.sqrt(3)  # t of 2 degrees of freedom, from a table
        expected = (own.mean(), own.mean() - half, own.mean() + half)
        assert interval(report(), *of) == pytest.approx(expected, abs=1e-6)


def test_one_seed_has_the_bootstrap_over_queries_of_paired_differences() -> None:
    first, second = (
        values_of(Place("bench", BASE, name), 0)["MRR"] for name in ("cosqa", "cosqa-plus")
    )
    it = bootstrap_interval(second - first)
    assert interval(report(1), "cosqa-plus", "cosqa") == (it.mean, it.low, it.high)


def rows_of(found: TrainingStudyReport) -> dict[tuple[str, str, str], Sequence[str]]:
    """Return (name of the table, row, source) → ours, published, difference, n."""
    rows: dict[tuple[str, str, str], Sequence[str]] = {}
    for table in figure_tables(found.figures):
        for row in table.rows:
            cells = dict(zip(table.header, map(plain_text, row), strict=True))
            key = (table.caption, cells.pop("figure"), cells.pop("published in", ""))
            rows[key] = [*cells.values()]
    return rows


def test_a_score_stands_with_its_gain_dev_score_and_pairs() -> None:
    rows = rows_of(report())
    mean, low, high = interval(report(), "cosqa", "none")
    gain = rows["MRR, test queries: bench", f"{BASE}, cosqa less none", ""]
    assert gain == [f"{mean:.4f} [{low:.4f}, {high:.4f}]", NONE, NONE, "3"]
    assert rows["pairs, test queries: bench", f"{BASE}, cosqa", ""] == ["1,234", "3"]
    dev = [name for table, name, _ in rows if table == "dev MRR, test queries: bench"]
    assert dev == [f"{BASE}, cosqa", f"{BASE}, cosqa-plus"], "the base was not trained"


def test_data_sets_are_compared_on_the_same_test_queries_alone() -> None:
    differences = [name for _, name, _ in rows_of(report()) if "less cosqa" in name]
    assert differences == [f"{BASE}, cosqa-plus less cosqa"] * 2
    assert not [name for _, name, _ in rows_of(report(test="")) if "less" in name]


def test_a_published_figure_stands_next_to_ours_where_base_and_data_have_its_names() -> None:
    rows = {(table, source): row for (table, name, source), row in rows_of(report()).items()
            if name.startswith(f"{BASE}, cosqa-plus (")}  # fmt: skip
    ours = interval(report(), "cosqa-plus")[0]
    row = rows["MRR, test queries: bench", "v2, Table III"]
    assert row[0].startswith(f"{ours:.4f} [")
    assert row[1:3] == ["0.9660", f"{ours - 0.966:+.4f}"]
    assert rows["MRR, test queries: bench", "v1, Table 2"][1] == "0.9620"
    place, one = Place("ruby", "roberta-base", "ruby"), {"dev MRR": np.ones(1), "MRR": np.ones(2)}
    kape = TrainingStudyReport(seeds=(1,), figures=training_figures([(place, one)]))
    assert [row[1] for row in rows_of(kape).values()] == ["0.6214", "0.5717"]


def test_every_table_has_as_many_cells_as_columns_and_stands_on_the_page() -> None:
    for table in figure_tables(report().figures):
        assert {len(row) for row in table.rows} == {len(table.header)}, table.caption
    document = training_study_document(report())
    for text in (html_page(document), markdown_page(document)):
        assert all(name in text for name in ("cosqa-plus less cosqa", "Table III", "over seeds"))
    assert "those of one seed" in markdown_page(training_study_document(report(1)))
    saved = report().model_dump_json()
    assert TrainingStudyReport.model_validate_json(saved) == report()


def test_the_papers_tables_say_what_the_papers_conclude_of_them() -> None:
    """CoSQA+ gives more than CoSQA; MMRR is no more than MRR; KAPE's models keep their order."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for each in paper_data().figures:
        if each.study == "training":
            found.setdefault((each.source, each.row), {})[each.column] = float(each.value)
    cosqa = [of for (source, _), of in found.items() if not source.startswith("kape")]
    assert len(cosqa) == 4
    for of in cosqa:
        for name in of:
            data, _, metric = name.partition(", ")
            assert data != "CoSQA" or of[f"CoSQA+, {metric}"] > of[name]
            assert metric != "MMRR" or of[name] < of[f"{data}, MRR"]
    table8 = {row: of for (source, row), of in found.items() if source == "kape, Table 8"}
    orders = [
        sorted(table8, key=lambda row, column=column: table8[row][column])  # type: ignore[misc]
        for column in ("Example, dev MRR", "Example, MRR")
    ]
    names = [[row.partition(" (")[0] for row in order] for order in orders]
    assert names[0] == names[1] == ["Tok-Att", "DEEPCS", "UNIF", "CARLCS-CNN"]
