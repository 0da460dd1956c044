"""Laws of what people see of a run: bars while it goes on, pages at its end."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.llm.ledger import JournalLedger, journal_ledger
from infra.budget import run_budget
from infra.errors import (
    BudgetExhaustedError,
)
from infra.ids import CodeId, PairKey, QueryId, RecipeId
from infra.records import Annotation
from infra.settings import AnnotationSettings, LanguageModelSettings, Settings, StoreSettings
from tasks.runtime.progress import Progress
from tasks.stages.annotate import run_watch
from tasks.stages.annotate.canaries import CanaryWatch, KnownLabel
from tasks.stages.annotate.run_watch import RunWatch
from tests.fakes.journals import spend

CANARY = PairKey(QueryId("q0"), CodeId("c0"))


def annotation(number: int, **fields: Any) -> Annotation:
    """Return an annotation that took as many seconds as its number."""
    given = {"status": "labelled", "label": 1, "path": "clear_match", **fields}
    return Annotation(
        query_id=QueryId(f"q{number}"), code_id=CodeId(f"c{number}"), recipe_id=RecipeId("r"),
        seconds=float(number), **given,
    )  # fmt: skip


class Seen:
    """What a run shows: pages by their keys, bars."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pages: dict[str, str] = {}
        self.bars: list[tuple[str, float, float]] = []
        llm = LanguageModelSettings(model="openai/m", budget_usd=2.0)
        settings = Settings(
            llm=llm, store=StoreSettings(folder=folder), annotation=AnnotationSettings(in_flight=4)
        )
        self.ledger = journal_ledger(settings.store, llm)
        spend(self.ledger, 100, 0.5)
        self.bar = Progress("pairs judged", 10, bar=None)
        plan = SimpleNamespace(
            collection="My codes",
            recipe=SimpleNamespace(model="openai/m"),
            pending=9,
            budget=run_budget(settings.store, llm, None),
        )
        canaries = CanaryWatch({CANARY: KnownLabel(key=CANARY, label=0)}, 0.4, "openai/m")
        named: list[Any] = [plan, self.ledger, settings.store, self.bar, canaries]
        monkeypatch.setattr(run_watch, "create_markdown_artifact", self._page)
        monkeypatch.setattr("tasks.stages.annotate.canaries.create_markdown_artifact", self._page)
        monkeypatch.setattr(run_watch, "Bar", self._bar)
        monkeypatch.setattr(run_watch, "get_run_logger", lambda: logging.getLogger("run"))
        monkeypatch.setattr("tasks.runtime.progress.get_run_logger", logging.getLogger)
        self.watch = RunWatch(*named)

    def _page(self, markdown: str, *, key: str, description: str) -> None:
        self.pages[key] = markdown

    def _bar(self, key: str, description: str) -> Any:
        def show(part: float, whole: float, description: str, *, at_end: bool) -> None:
            self.bars.append((key, part, whole))

        return SimpleNamespace(show=show)


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(tmp_path, monkeypatch)


def test_the_bars_tell_how_many_are_judged_and_failed_and_what_was_spent(seen: Seen) -> None:
    seen.watch.add([annotation(0), annotation(1, label=0), annotation(3)])
    seen.watch.add([annotation(2, status="failed", label=None, path="model_unavailable")])
    spend(seen.ledger, 50, 0.25)
    seen.watch.turn(lambda: 1)
    assert (seen.watch.arrived, seen.bar.done) == (4, 5), "one of a shard at work"
    assert seen.bar.note == "1 of them failed"
    assert seen.bars == [("budget-my-codes", 0.75, 2.0)]


def test_canaries_are_labels_of_no_count_but_where_they_failed(seen: Seen) -> None:
    seen.watch.add([annotation(0), annotation(0, label=0)])
    assert (seen.watch.judged_pairs().pairs, seen.watch.judged_pairs().failed) == (0, 0)
    seen.watch.add([annotation(0, status="failed", label=None, path="no_box", reason="gone")])
    assert (seen.watch.judged_pairs().pairs, seen.watch.judged_pairs().failed) == (1, 1)
    seen.watch.add([annotation(1), annotation(0)])
    seen.watch.close()
    assert "pending | 9 " in seen.pages["funnel-my-codes"]
    assert "labelled | 1 " in seen.pages["funnel-my-codes"]


def test_the_pages_have_keys_that_are_the_same_in_each_run_and_name_the_slowest(
    seen: Seen, caplog: pytest.LogCaptureFixture
) -> None:
    seen.watch.add([annotation(number) for number in range(1, 60)])
    seen.watch.add([annotation(70, status="failed", label=None, path="no_box", reason="gone")])
    seen.watch.close()
    assert set(seen.pages) == {"canaries-my-codes", "funnel-my-codes", "pairs-my-codes"}
    slowest = seen.pages["pairs-my-codes"]
    assert slowest.index("q70") < slowest.index("q59") < slowest.index("q58")
    assert "q30 " not in slowest, "few are kept, however many there are"
    assert "1 of 60 pairs failed, most often: no box (gone)" in caplog.text


def test_a_ledger_that_cannot_be_read_ends_no_run(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unread(*_: object) -> tuple[int, float]:
        raise BudgetExhaustedError("the ledger cannot be read")

    monkeypatch.setattr(JournalLedger, "spent", unread)
    seen.watch.close()
    assert "the ledger cannot be read" in caplog.text


def test_a_server_that_takes_no_page_ends_no_run(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise ConnectionError("no server")

    monkeypatch.setattr(run_watch, "create_markdown_artifact", gone)
    seen.watch.close()
    assert "no server" in caplog.text
