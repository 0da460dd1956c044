"""Laws of the reports of trainings: gains, loss and dev score by epoch, and what papers print."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

from tasks.reports.document import plain_text
from tasks.reports.figures import Points
from tasks.reports.render import html_page, markdown_page
from tasks.reports.text import NONE
from tasks.reports.training import (
    GAINED,
    Place,
    TrainingReport,
    TrainingStudyReport,
    epoch_figures,
    epochs_table,
    figure_tables,
    training_document,
    training_figures,
    training_study_document,
)
from tasks.statistics import Values
from tasks.statistics.intervals import bootstrap_interval
from tasks.studies import paper_data
from tasks.training.encoder import Description
from tasks.training.recipes import RECIPES, History

HOSTILE = "<script>alert(1)</script>|"

BASE = "codebert-search"
NAMES = ("none", "cosqa", "cosqa-plus")


def report(**changes: object) -> TrainingReport:
    history = History(
        metric="NDCG@10", before=0.2, losses=((1, 2.5), (2, 1.5)), scores=((1.0, 0.4), (2.0, 0.3)),
        best_epoch=1.0, steps=2, dimension=8, seconds=75.0, device="cpu",
    )  # fmt: skip
    description = Description(
        kind="transformer", dimension=8, recipe=RECIPES["cosqa-plus"], recipe_hash="abc123",
        base={"name": "minilm", "model": "m", "revision": "r"}, data=HOSTILE,
        data_fingerprint="f" * 64, licences=("MIT", "unknown"),
    )  # fmt: skip
    whole = TrainingReport(
        name="mine", description=description, pairs=1234, dropped=7, dev_queries=9,
        history=history, tested="t", gains=training_figures(SCORES, of_one=True),
    )  # fmt: skip
    return whole.model_copy(update=changes)


def scores(place: Place, *values: float) -> tuple[Place, dict[str, Values]]:
    return place, dict.fromkeys(GAINED, np.array(values))


SCORES = [
    scores(Place("t", "minilm"), 0.0, 0.5, 0.5, 0.0),
    scores(Place("t", "bm25"), 0.0, 0.0, 0.0, 0.0),
    scores(Place("t", "minilm", "docs"), 0.5, 1.0, 0.5, 0.0),
]


def test_gains_over_base_and_other_methods_are_of_the_same_queries_with_an_interval() -> None:
    figures = training_figures(SCORES, of_one=True)
    gains = [each for each in figures if each.less]
    assert [(each.less, each.name) for each in gains] == [
        (other, name) for other in ("none", "bm25") for name in GAINED
    ]
    for gain, expected in zip(gains, [0.25] * 3 + [0.5] * 3, strict=True):
        assert gain.place == Place("t", "minilm", "docs")
        assert gain.interval.mean == pytest.approx(expected)
        assert gain.interval.low <= expected <= gain.interval.high
    means = {(each.place.base, each.place.data): each.interval.mean
             for each in figures if not each.less}  # fmt: skip
    assert means == {("minilm", "none"): 0.25, ("bm25", "none"): 0.0, ("minilm", "docs"): 0.5}
    alone = training_figures(SCORES[2:], of_one=True)
    assert [(each.less, each.interval.mean) for each in alone] == [("", 0.5)] * len(GAINED)


def test_each_metric_has_a_table_of_scores_and_gains() -> None:
    tables = figure_tables(report().gains)
    assert [table.caption for table in tables] == [f"{name}, test queries: t" for name in GAINED]
    for table in tables:
        assert {len(row) for row in table.rows} == {len(table.header)}
    rows = {plain_text(row[0]): plain_text(row[1]) for row in tables[0].rows}
    assert list(rows) == [
        "minilm, none", "bm25, none", "minilm, docs", "minilm, docs less none",
        "minilm, docs less bm25",
    ]  # fmt: skip
    assert rows["minilm, docs less none"].startswith("0.2500 [")
    assert "It was not tested." in markdown_page(training_document(report(gains=())))


def test_its_figures_stand_under_base_and_data() -> None:
    assert report().place("bench") == Place("bench", "minilm", HOSTILE)
    bare = report().description.model_copy(update={"base": {}, "kind": "ncs"})
    assert report(description=bare).place("bench") == Place("bench", "ncs", HOSTILE)


def test_the_page_has_base_recipe_data_and_licences() -> None:
    document = training_document(report())
    page, text = html_page(document), markdown_page(document)
    told = re.sub(r"<[^>]+>", " ", page)
    for expected in (
        "minilm m r", "cosqa-plus", "abc123", "MIT, unknown", "1,234 pairs", "epoch 1", "softmax",
        "the best by NDCG@10 of 9 dev queries", "pairs of dev or test queries left out",
    ):  # fmt: skip
        assert expected in told, expected
        assert expected in text, expected
    assert "<script>alert" not in page


def test_loss_and_dev_score_are_drawn_over_epochs() -> None:
    loss, score = epoch_figures(report().history)
    assert loss.image == Points("epoch", "loss", ((1.0, 2.5), (2.0, 1.5)))
    assert score.image == Points("epoch", "dev NDCG@10", ((0.0, 0.2), (1.0, 0.4), (2.0, 0.3)))
    assert html_page(training_document(report())).count("<svg") == 2
    bare = report().history.model_copy(update={"losses": (), "scores": (), "steps": 0})
    assert len(epoch_figures(bare)) == 1


def test_each_epoch_has_its_last_loss_and_its_dev_score() -> None:
    history = report().history
    assert epochs_table(history).rows == [
        ("0", NONE, "0.2000"), ("1", "2.5000", "0.4000"), ("2", "1.5000", "0.3000"),
    ]  # fmt: skip
    bare = history.model_copy(update={"losses": (), "scores": (), "steps": 0})
    assert epochs_table(bare).rows == [("0", NONE, "0.2000")], "it is not trained by steps"


def values_of(place: Place, seed: int) -> dict[str, Values]:
    rng = np.random.default_rng([NAMES.index(place.data), seed])
    values = {"MRR": rng.random(9), "NDCG@10": rng.random(9)}
    if place.data != "none":
        values |= {"dev MRR": rng.random(1), "pairs": np.array([1234.0])}
    return values


def study_report(seeds: int = 3, test: str = "bench") -> TrainingStudyReport:
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
        assert interval(study_report(), *of) == pytest.approx(expected, abs=1e-6)


def test_one_seed_has_the_bootstrap_over_queries_of_paired_differences() -> None:
    first, second = (
        values_of(Place("bench", BASE, name), 0)["MRR"] for name in ("cosqa", "cosqa-plus")
    )
    it = bootstrap_interval(second - first)
    assert interval(study_report(1), "cosqa-plus", "cosqa") == (it.mean, it.low, it.high)


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
    rows = rows_of(study_report())
    mean, low, high = interval(study_report(), "cosqa", "none")
    gain = rows["MRR, test queries: bench", f"{BASE}, cosqa less none", ""]
    assert gain == [f"{mean:.4f} [{low:.4f}, {high:.4f}]", NONE, NONE, "3"]
    assert rows["pairs, test queries: bench", f"{BASE}, cosqa", ""] == ["1,234", "3"]
    dev = [name for table, name, _ in rows if table == "dev MRR, test queries: bench"]
    assert dev == [f"{BASE}, cosqa", f"{BASE}, cosqa-plus"], "the base was not trained"


def test_data_sets_are_compared_on_the_same_test_queries_alone() -> None:
    differences = [name for _, name, _ in rows_of(study_report()) if "less cosqa" in name]
    assert differences == [f"{BASE}, cosqa-plus less cosqa"] * 2
    assert not [name for _, name, _ in rows_of(study_report(test="")) if "less" in name]


def test_a_published_figure_stands_next_to_ours_where_base_and_data_have_its_names() -> None:
    rows = {(table, source): row for (table, name, source), row in rows_of(study_report()).items()
            if name.startswith(f"{BASE}, cosqa-plus (")}  # fmt: skip
    ours = interval(study_report(), "cosqa-plus")[0]
    row = rows["MRR, test queries: bench", "v2, Table III"]
    assert row[0].startswith(f"{ours:.4f} [")
    assert row[1:3] == ["0.9660", f"{ours - 0.966:+.4f}"]
    assert rows["MRR, test queries: bench", "v1, Table 2"][1] == "0.9620"
    place, one = Place("ruby", "roberta-base", "ruby"), {"dev MRR": np.ones(1), "MRR": np.ones(2)}
    kape = TrainingStudyReport(seeds=(1,), figures=training_figures([(place, one)]))
    assert [row[1] for row in rows_of(kape).values()] == ["0.6214", "0.5717"]


def test_every_table_has_as_many_cells_as_columns_and_stands_on_the_page() -> None:
    for table in figure_tables(study_report().figures):
        assert {len(row) for row in table.rows} == {len(table.header)}, table.caption
    document = training_study_document(study_report())
    for text in (html_page(document), markdown_page(document)):
        assert all(name in text for name in ("cosqa-plus less cosqa", "Table III", "over seeds"))
    assert "those of one seed" in markdown_page(training_study_document(study_report(1)))
    saved = study_report().model_dump_json()
    assert TrainingStudyReport.model_validate_json(saved) == study_report()


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
