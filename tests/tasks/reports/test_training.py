"""The report of a training: gains, loss and dev score by epoch, what it was trained by."""

import re

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
    epoch_figures,
    epochs_table,
    figure_tables,
    training_document,
    training_figures,
)
from tasks.statistics import Values
from tasks.training.encoder import Description
from tasks.training.job import History
from tasks.training.recipes import RECIPES

HOSTILE = "<script>alert(1)</script>|"


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
