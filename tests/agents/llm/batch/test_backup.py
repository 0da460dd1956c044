"""Laws of backups of batches: what was spent and what is in flight are of the same moment.

Covers `infra.store.backup`.
"""

from pathlib import Path

import pytest

from infra.settings import LanguageModelSettings, StoreSettings
from infra.store import open_database
from infra.store.backup import back_up, restore
from tests.fakes.journals import limiter_of, requests_of

LLM = LanguageModelSettings(model="openai/m")
OTHERS_USD, RESERVED_USD, TOOK_USD = 5.0, 2.0, 0.5


class World:
    """A store with a batch, as a run sees it."""

    def __init__(self, store: StoreSettings) -> None:
        self.store = store
        self.limiter = limiter_of(store, LLM)
        self.requests = requests_of(store, LLM)

    def send(self) -> None:
        self.requests.begin("mark", ["ab"], 100, RESERVED_USD).result()

    def settle(self) -> None:
        """Do what a run does with the batch once it has ended, where it finds it."""
        for batch in self.requests.sent():
            self.requests.end(batch, took=(50, TOOK_USD)).result()


@pytest.mark.parametrize("place", range(4))
def test_a_batch_that_settles_while_a_backup_is_made_settles_once(
    tmp_path: Path, place: int
) -> None:
    store = open_database(StoreSettings(folder=tmp_path / "store")).settings
    world = World(store)
    world.limiter.settle(world.limiter.reserve(100, OTHERS_USD).result(), 100, OTHERS_USD).result()
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
