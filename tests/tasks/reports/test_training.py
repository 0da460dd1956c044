"""The report of a training: gains, loss and dev score by epoch, what it was trained by."""

import re

import pytest

from tasks.reports.figures import Points
from tasks.reports.leaderboard import MethodScores
from tasks.reports.render import html_page, markdown_page
from tasks.reports.text import NONE
from tasks.reports.training import (
    GAINED,
    TrainingReport,
    epoch_figures,
    epochs_table,
    gains_of,
    gains_table,
    training_document,
)
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
        history=history, tested="t", gains=gains_of("mine", SCORES),
    )  # fmt: skip
    return whole.model_copy(update=changes)


def scores(method: str, *values: float) -> MethodScores:
    by_query = {f"q{number}": value for number, value in enumerate(values)}
    return MethodScores(method=method, values=dict.fromkeys(GAINED, by_query), judged=1.0)


SCORES = [scores("minilm", 0.0, 0.5, 0.5, 0.0), scores("mine", 0.5, 1.0, 0.5, 0.0)]


def test_gains_are_of_the_same_queries_with_an_interval() -> None:
    gains = gains_of("mine", SCORES)
    assert [(gain.method, gain.metric) for gain in gains] == [("minilm", name) for name in GAINED]
    for gain in gains:
        assert (gain.before, gain.after) == pytest.approx((0.25, 0.5))
        assert gain.difference is not None
        assert gain.difference.mean == pytest.approx(0.25)
        assert gain.difference.low <= 0.25 <= gain.difference.high
    alone = gains_of("mine", SCORES[1:])
    assert [(gain.method, gain.difference) for gain in alone] == [("mine", None)] * len(GAINED)
    assert [gain.after for gain in alone] == [gain.after for gain in gains]


def test_the_table_has_a_row_for_each_gain() -> None:
    table = gains_table(report())
    assert {len(row) for row in table.rows} == {len(table.header)}
    assert table.rows[0][:5] == ("minilm", "NDCG@10", "0.2500", "0.5000", "+0.2500")
    assert "It was not tested." in markdown_page(training_document(report(gains=())))


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
