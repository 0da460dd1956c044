"""Laws of what people see of a round: a bar while it goes on, a warning at its end.

Covers `tasks.stages.annotate.monitor` and `tasks.stages.annotate.unlabelled`.
"""

import asyncio
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.llm.ledger import journal_ledger
from infra.budget import run_budget
from infra.identity import CodeId, PairKey, QueryId, RecipeId
from infra.records import Annotation, GivenVote
from infra.settings import LanguageModelSettings, StoreSettings
from tasks.runtime.progress import Progress
from tasks.stages.annotate import monitor
from tasks.stages.annotate.gold import ORIGIN
from tasks.stages.annotate.monitor import ProgressMonitor
from tests.fakes.journals import spend

GOLD = PairKey(QueryId("q0"), CodeId("c0"))
KNOWN = GivenVote(
    query_id=GOLD.query_id, code_id=GOLD.code_id, kind="gold", origin=ORIGIN, relevance=0
)


def annotation(number: int, **fields: Any) -> Annotation:
    """Return an annotation of a pair."""
    given = {"status": "labelled", "label": 1, "path": "clear_match", **fields}
    return Annotation(
        query_id=QueryId(f"q{number}"), code_id=CodeId(f"c{number}"), recipe_id=RecipeId("r"),
        **given,
    )  # fmt: skip


class Seen:
    """What a round shows."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        llm = LanguageModelSettings(model="openai/m", budget_usd=2.0)
        store = StoreSettings(folder=folder)
        budget = run_budget(store, llm, None)
        self.ledger = journal_ledger(store, llm, budget)
        spend(self.ledger, 100, 0.5)
        self.bar = Progress("pairs judged", 10)
        plan: Any = SimpleNamespace(recipe=SimpleNamespace(model="openai/m"), gold=(GOLD,))
        monkeypatch.setattr(monitor, "get_run_logger", lambda: logging.getLogger("run"))
        monkeypatch.setattr("tasks.runtime.progress.run_logger", logging.getLogger)
        self.monitor = ProgressMonitor(plan, self.ledger, {GOLD: KNOWN}, 0.4, self.bar)


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(tmp_path, monkeypatch)


def test_the_bar_shows_how_many_are_judged_and_failed_and_what_was_spent(seen: Seen) -> None:
    seen.monitor.refresh(1)
    assert seen.bar.done == 0, "the one at work may be the gold question"
    seen.monitor.add([annotation(0), annotation(1, label=0), annotation(3)])
    seen.monitor.add([annotation(2, status="failed", label=None, path="model_unavailable")])
    spend(seen.ledger, 50, 0.25)
    reserved = asyncio.run(seen.ledger.reserve(10, 0.125))
    seen.monitor.refresh(1, "no answer", reserved.usd)
    assert (seen.monitor.arrived, seen.bar.done) == (4, 3), "two, and one of a shard at work"
    assert seen.bar.trouble == "no answer"
    assert (
        seen.bar.note
        == "1 gold question besides, 1 failed, $0.75 spent, $0.12 reserved, $1.12 left"
    )


def test_gold_questions_are_counted_apart_from_the_pairs(seen: Seen) -> None:
    def judged() -> tuple[int, int]:
        counts = seen.monitor.judged_pairs()
        return counts.pairs, counts.failed

    seen.monitor.add([annotation(0), annotation(0, label=0)])
    assert judged() == (0, 0)
    seen.monitor.add([annotation(0, status="failed", label=None, path="no_box", reason="gone")])
    assert judged() == (0, 0)
    assert seen.monitor.alarm is None
    seen.monitor.add([annotation(1), *[annotation(0)] * 4])
    assert "openai/m judged 5 of 6 pairs with known labels wrongly" in str(seen.monitor.alarm)


def test_the_most_frequent_failure_is_named_with_a_reason(
    seen: Seen, caplog: pytest.LogCaptureFixture
) -> None:
    seen.monitor.add([annotation(number) for number in range(60)])
    failed = {"status": "failed", "label": None}
    seen.monitor.add([annotation(70, path="model_unavailable", reason="no answer", **failed)])
    seen.monitor.add([annotation(number, path="no_box", **failed) for number in (71, 72)])
    seen.monitor.add([annotation(73, path="no_box", reason="gone\n\x1b[31m" + "x" * 500, **failed)])
    seen.monitor.close()
    assert "4 of 63 pairs failed, most often: no box (gone ⟨U+001B⟩[31mxxx" in caplog.text
    assert len(seen.monitor.judged_pairs().most_often) < 250, "what a model wrote is cut"


def test_cut_and_unreadable_replies_are_told_with_their_number_and_a_reason(
    seen: Seen, caplog: pytest.LogCaptureFixture
) -> None:
    undecided = {"status": "undecided", "label": None}
    cut = [
        annotation(number, path="reply_cut", reason="too long", **undecided) for number in (1, 2)
    ]
    seen.monitor.add([annotation(0), *cut, annotation(3, path="unreadable_reply", **undecided)])
    seen.monitor.close()
    assert caplog.messages == [
        "2 pairs without a label, reply cut: too long",
        "1 pair without a label, unreadable reply: no reason is known",
    ]
