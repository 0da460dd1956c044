"""Laws of backups of batches: what was spent and what is in flight are of the same moment.

Covers `infra.store.backups`.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agents.llm.batch.money import BatchMoney
from agents.llm.batch.records import SentBatch
from agents.llm.batch.requests import BatchRequests
from agents.llm.rate_limit import SharedLimiter
from infra.settings import LanguageModelSettings, StoreSettings
from infra.sqlite import unwritten
from infra.store import open_database
from infra.store.backups import back_up
from infra.store.restoring import restore

LLM = LanguageModelSettings(model="openai/m")
OTHERS_USD, RESERVED_USD, TOOK_USD = 5.0, 2.0, 0.5


class World:
    """A store with a batch, as a run sees it."""

    def __init__(self, store: StoreSettings) -> None:
        self.store = store
        self.limiter = SharedLimiter(store.ledgers, LLM)
        self.requests = BatchRequests(store.replies, LLM)
        self.money = BatchMoney(self.limiter, self.requests)

    def send(self) -> None:
        ticket = self.money.reserve("mark", 1, 100, RESERVED_USD)
        self.requests.begin(SentBatch(mark="mark", requests=1, ticket=ticket), ["ab"])

    def settle(self) -> None:
        """Do what a run does with the batch once it has ended, where it finds it."""
        self.money.finish()
        for batch in self.requests.sent():
            change = self.money.settlement(batch, 50, TOOK_USD)
            self.requests.end(batch.mark, ["ab"], change=change)
            self.money.finish()


@pytest.mark.parametrize("place", range(5))
def test_a_batch_that_settles_while_a_backup_is_made_settles_once(
    tmp_path: Path, place: int
) -> None:
    store = open_database(StoreSettings(folder=tmp_path / "store")).settings
    world = World(store)
    world.limiter.settle(world.limiter.reserve(100, OTHERS_USD), 100, OTHERS_USD)
    world.send()

    steps: list[str] = []

    def report(step: str) -> None:
        if len(steps) == place:
            world.settle()
        steps.append(step)

    back_up(store, tmp_path / "backup", report)
    world.settle()
    assert len(steps) > place
    restored = StoreSettings(folder=tmp_path / "restored")
    restore(restored, tmp_path / "backup")
    later = World(restored)
    later.settle()
    assert later.requests.sent() == []
    assert later.limiter.spent()[1] == OTHERS_USD + TOOK_USD


@pytest.mark.parametrize("mode", ["WAL", "TRUNCATE"])
def test_no_batch_changes_while_ledgers_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Neither is begun nor settled, on a disk of this machine or of a network."""
    for module in ("sqlite", "packed_upkeep"):
        monkeypatch.setattr(f"infra.{module}.journal_mode", lambda _: mode)
    store = open_database(StoreSettings(folder=tmp_path / "store")).settings
    world = World(store)
    world.send()
    refused: list[str] = []

    def write(_: Path, target: Path) -> None:
        target.touch()
        with (
            closing(sqlite3.connect(store.replies / "batches.sqlite", timeout=0)) as other,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            other.execute("DELETE FROM batches")
        refused.append(target.name)

    monkeypatch.setattr("infra.store.backups.copy_ledger", write)
    back_up(store, tmp_path / "backup")
    assert refused == [world.limiter.account]
    with unwritten(store.replies / "batches.sqlite"):
        assert World(store).requests.sent()
