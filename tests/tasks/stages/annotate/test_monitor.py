"""Laws of annotations that arrive: a bar while a round goes on, a warning at its end.

Those that the database refuses cost neither the others nor the run, and a full disk loses none.
"""

import asyncio
import logging
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.llm.ledger import journal_ledger
from infra.budget import run_budget
from infra.errors import DiskFullError, StoreError
from infra.identity import CodeId, PairKey, QueryId, RecipeId
from infra.records import Annotation, Execution, ExecutionResult, GivenVote, LanguageModelCall
from infra.settings import LanguageModelSettings, StoreSettings
from infra.store import Database, annotations, open_database
from tasks.runtime.progress import Progress
from tasks.stages.annotate import monitor
from tasks.stages.annotate.gold import ORIGIN
from tasks.stages.annotate.monitor import ProgressMonitor, store_annotations
from tests.fakes.journals import spend
from tests.fakes.small_disk import small_disk
from tests.fakes.stores import empty_store

GOLD = PairKey(QueryId("q0"), CodeId("c0"))
KNOWN = GivenVote(
    query_id=GOLD.query_id, code_id=GOLD.code_id, kind="gold", origin=ORIGIN, relevance=0
)

CALL = LanguageModelCall(role="judge", attempt=1, model="m", prompt_digest="d", status="ok")
RUN = Execution(round=0, program="p", result=ExecutionResult(outcome="passed"))

BATCH = 50


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


def storable(name: str, **fields: Any) -> Annotation:
    whole = {
        "query_id": f"q-{name}", "code_id": "c", "recipe_id": "r", "status": "labelled",
        "label": 1, "path": "read_alone", "calls": (CALL,), "executions": (RUN,),
    }  # fmt: skip
    return Annotation.model_validate(whole).model_copy(update=fields)


def call(**fields: Any) -> tuple[LanguageModelCall, ...]:
    return (CALL.model_copy(update=fields),)


def run(**fields: Any) -> tuple[Execution, ...]:
    return (RUN.model_copy(update={"result": RUN.result.model_copy(update=fields)}),)


REFUSED = {
    "count beyond the column": storable("bad", executions=run(target_calls=2**62)),
    "count beyond any column": storable("bad", executions=run(asserts_executed=2**70)),
    "tokens beyond the column": storable("bad", calls=call(prompt_tokens=2**70)),
    "half a surrogate pair in a reply": storable("bad", calls=call(reply="\ud800")),
    "half a surrogate pair in a reason": storable("bad", reason="x\udfffy"),
    "half a surrogate pair in a program": storable(
        "bad", executions=(RUN.model_copy(update={"program": "\udc80"}),)
    ),
    "status that contradicts the label": storable("bad", label=None),
    "more agreeing than judging": storable("bad", agreeing=2),
}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return empty_store(tmp_path / "store", lock_timeout_s=0.2)


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_refused_annotation_is_a_failed_pair_and_the_others_of_its_batch_are_stored(
    database: Database, refused: Annotation, place: int, caplog: pytest.LogCaptureFixture
) -> None:
    good = [storable("1"), storable("2")]
    batch = [*good[:place], refused, *good[place:]]
    with caplog.at_level(logging.WARNING):
        store_annotations(database, batch)
    stored = annotations.finished_pairs(database, RecipeId("r"))
    assert stored == {item.key for item in good}
    with database.transaction() as tx:
        rows = tx.rows("SELECT query_id, status, path, tries FROM annotations WHERE label IS NULL")
    assert rows == [("q-bad", "failed", "internal_error", 1)], "not due for ever"
    assert "q-bad" in caplog.text


def test_each_refusal_of_a_pair_counts_as_one_more_of_its_tries(database: Database) -> None:
    for _ in range(2):
        store_annotations(database, [REFUSED["tokens beyond the column"]])
    with database.transaction() as tx:
        assert tx.rows("SELECT tries FROM annotations") == [(2,)]


def test_a_database_that_cannot_be_opened_ends_the_run(tmp_path: Path) -> None:
    settings = StoreSettings(folder=tmp_path, lock_timeout_s=0.2)
    database = open_database(settings)
    settings.database.write_text("this is no database" * 1000)
    with pytest.raises(StoreError):
        store_annotations(database, [storable("1"), storable("2")])


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    yield from small_disk(tmp_path / "disk", megabytes=4)


def test_a_full_disk_is_one_error_and_what_was_stored_and_what_waits_are_both_there_afterwards(
    disk: Path,
) -> None:
    database = open_database(StoreSettings(folder=disk))
    added: list[Annotation] = []

    def add_for_ever() -> None:
        while True:
            noise = os.urandom(4_000 * BATCH).hex()
            names = range(len(added), len(added) + BATCH)
            batch = [storable(str(n), calls=call(reply=noise[n % BATCH :: BATCH])) for n in names]
            added.extend(batch)
            store_annotations(database, batch)

    with pytest.raises(DiskFullError, match=r"disk of .* is full .* run the same command again"):
        add_for_ever()
    assert len(added) > BATCH
    stored = annotations.finished_pairs(database, RecipeId("r"))
    assert stored == {item.key for item in added[:-BATCH]}
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
    store_annotations(database, added[-BATCH:])
    keys = [item.key for item in added]
    assert annotations.load_annotations(database, RecipeId("r"), keys) == added
