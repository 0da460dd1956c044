"""Laws of what people see of a round: a bar while it goes on, a page at its end."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.llm.ledger import JournalLedger, journal_ledger
from infra.budget import run_budget
from infra.errors import BudgetExhaustedError
from infra.ids import CodeId, PairKey, QueryId, RecipeId
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
    """What a round shows: pages by their keys, the bar."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pages: dict[str, str] = {}
        llm = LanguageModelSettings(model="openai/m", budget_usd=2.0)
        store = StoreSettings(folder=folder)
        budget = run_budget(store, llm, None)
        self.ledger = journal_ledger(store, llm, budget)
        spend(self.ledger, 100, 0.5)
        self.bar = Progress("pairs judged", 10)
        plan: Any = SimpleNamespace(
            collection="My codes", recipe=SimpleNamespace(model="openai/m"), pending=9
        )
        monkeypatch.setattr(monitor, "create_markdown_artifact", self._page)
        monkeypatch.setattr(monitor, "get_run_logger", lambda: logging.getLogger("run"))
        monkeypatch.setattr("tasks.runtime.progress.get_run_logger", logging.getLogger)
        self.monitor = ProgressMonitor(
            plan, self.ledger, {GOLD: KNOWN}, 0.4, self.bar, "cosqa browse"
        )

    def _page(self, markdown: str, *, key: str, description: str) -> None:
        self.pages[key] = markdown


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(tmp_path, monkeypatch)


def test_the_bar_shows_how_many_are_judged_and_failed_and_what_was_spent(seen: Seen) -> None:
    seen.monitor.add([annotation(0), annotation(1, label=0), annotation(3)])
    seen.monitor.add([annotation(2, status="failed", label=None, path="model_unavailable")])
    spend(seen.ledger, 50, 0.25)
    seen.monitor.refresh(1)
    assert (seen.monitor.arrived, seen.bar.done) == (4, 5), "one of a shard at work"
    assert seen.bar.note == "1 failed, $0.75 spent, $1.25 left"


def test_gold_questions_count_among_the_pairs_only_where_they_failed(seen: Seen) -> None:
    def judged() -> tuple[int, int]:
        counts = seen.monitor.judged_pairs()
        return counts.pairs, counts.failed

    seen.monitor.add([annotation(0), annotation(0, label=0)])
    assert judged() == (0, 0)
    seen.monitor.add([annotation(0, status="failed", label=None, path="no_box", reason="gone")])
    assert judged() == (1, 1)
    assert seen.monitor.alarm is None
    seen.monitor.add([annotation(1), *[annotation(0)] * 4])
    assert "openai/m judged 5 of 6 pairs with known labels wrongly" in str(seen.monitor.alarm)


def test_the_page_has_a_key_that_is_the_same_in_each_run(
    seen: Seen, caplog: pytest.LogCaptureFixture
) -> None:
    seen.monitor.add([annotation(number) for number in range(60)])
    seen.monitor.add([annotation(70, status="failed", label=None, path="no_box", reason="gone")])
    seen.monitor.close()
    ((key, page),) = seen.pages.items()
    assert key == "judged-my-codes"
    assert "pending | 9 " in page
    assert "labelled | 59 " in page
    assert "| code that does not answer | 1 | 1 |" in page
    assert "q70" in page
    assert "1 of 60 pairs failed, most often: no box (gone)" in caplog.text


def test_a_ledger_that_cannot_be_read_ends_no_run(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(*_: object) -> tuple[int, float]:
        raise BudgetExhaustedError("the ledger cannot be read")

    monkeypatch.setattr(JournalLedger, "spent", unread)
    seen.monitor.close()
    assert set(seen.pages) == {"judged-my-codes"}


def test_a_server_that_takes_no_page_ends_no_run(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise ConnectionError("no server")

    monkeypatch.setattr(monitor, "create_markdown_artifact", gone)
    seen.monitor.close()
    assert "no server" in caplog.text
