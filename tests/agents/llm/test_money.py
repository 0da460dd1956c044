"""The laws of money, by simulation: real limiter, budget and cache, a provider with its own bill.

Each seed draws a story: processes with several clients that ask the same prompts at once, killed or
cancelled at any moment, faults and lies of the provider, a journal that cannot be written or is
damaged. The laws hold at every moment of it.
"""

import asyncio
import re
import sqlite3
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Literal

import pytest

from agents.llm.client import LanguageModel
from agents.llm.ledger import JournalLedger, journal_ledger
from agents.llm.prompt import Prompt
from agents.llm.structured_output import Reply
from infra.errors import LanguageModelError, UnrecordableError
from infra.journal import begin
from infra.settings import LanguageModelSettings, StoreSettings
from tests.fakes.billing import MAX_TOKENS, BilledTransport, BillingProvider
from tests.fakes.journals import journal_text, pack
from tests.fuzzing import seeds

PROMPTS = [Prompt(system="Role: screener", user=f"{n}" * (1 + 200 * n)) for n in range(6)]
ROUNDING = 1e-12


class Verdict(Reply):
    """What is asked for."""

    verdict: Literal["yes"]


class Story:
    """A world of processes, folders and a provider, drawn from a seed.

    Args:
        seed: What happens.
        folder: Where the processes keep their files.
        patch: Sets the provider and the disk.
    """

    def __init__(self, seed: int, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.draw = Random(seed)
        self.folder = folder
        self.is_priced = self.draw.random() < 0.8
        self.budget = self.draw.choice([None, 0.002, 0.004, 0.01, 1.0])
        self.provider = BillingProvider(
            self.draw, self.look, is_priced=self.is_priced, faults=self.draw.choice([0, 0.2, 0.6])
        )
        self.settings = LanguageModelSettings(
            model="openai/simulated", budget_usd=self.budget, max_tokens=MAX_TOKENS, max_retries=2,
            max_backoff_s=0.001, requests_per_minute=self.draw.choice([0, 600_000]),
        )  # fmt: skip
        self.clients = self.draw.randint(1, 3)
        patch.setattr("agents.llm.client.Transport", lambda *_: BilledTransport(self.provider))
        self.machine = Random(seed)  # draws in the journal's threads
        self._disk, self._begin = 0.0, begin
        patch.setattr("infra.journal.begin", self.begin)
        self.store = StoreSettings(folder=folder)

    def begin(self, connection: sqlite3.Connection) -> None:
        """Begin a group of changes, where the disk is not full."""
        if self.machine.random() < self._disk:
            raise sqlite3.OperationalError("database or disk is full")
        connection.execute("PRAGMA synchronous = OFF")  # for speed
        self._begin(connection)

    def spent(self) -> float:
        """Return what the journal says."""
        return journal_ledger(self.store, self.settings).spent()[1]

    def look(self, provider: BillingProvider) -> None:
        """Check what holds at every moment: the ledger covers the bill, the bill the budget."""
        if not (self.is_priced and self.budget):
            return  # nothing can be reserved of a price that is not known
        assert provider.usd <= self.budget + ROUNDING
        assert self.spent() >= provider.usd - ROUNDING

    def run_process(self, end: str) -> None:
        """Let some clients ask all prompts at once, until they are done, cancelled or killed."""
        self._disk = self.draw.choice([0.0, 0.0, 0.1])
        loop = asyncio.new_event_loop()
        try:
            ledger = journal_ledger(self.store, self.settings)
            models = [LanguageModel(self.settings, ledger) for _ in range(self.clients)]
            tasks = [loop.create_task(self.ask(model)) for model in models for _ in range(2)]
            await_s = 30 if end == "done" else self.draw.random() * 0.05
            loop.run_until_complete(asyncio.wait(tasks, timeout=await_s))
            assert end != "done" or all(task.done() for task in tasks), "every run ends"
            if end == "killed":
                # It writes nothing more, and whoever waits for that ends with it.
                vars(ledger._journal)["write"] = lambda *_, **__: cancelled_future()
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.wait(tasks))
            was_full, self._disk = self._disk > 0, 0.0
            self.bury(ledger)
        finally:
            loop.close()
        failures = [task.exception() for task in tasks if task.done() and not task.cancelled()]
        assert not [failure for failure in failures if failure]
        gone = self.provider.die(self.kept() if self.provider.on_the_wire else ())
        assert end != "done" or was_full or not gone, "what had arrived was not kept"

    def bury(self, ledger: JournalLedger) -> None:
        """Wait for what a process had handed over to the disk."""
        ledger._journal.close()

    def kept(self) -> set[int]:
        """Return the numbers of the bills whose replies are kept."""
        return {int(number) for number in re.findall(r"bill (\d+):", journal_text(self.folder))}

    async def ask(self, model: LanguageModel) -> None:
        """Ask all prompts, in any order; whatever comes of it, it is an error of ours."""
        for prompt in self.draw.sample(PROMPTS, len(PROMPTS)):
            try:
                await model.ask("screener", prompt, Verdict)
            except LanguageModelError:
                continue

    def damage_journal(self) -> None:
        """Damage the journal: nothing is asked until it is restored."""
        file = self.store.journal
        if not file.exists():
            return
        pack(file)
        whole, spent, bill = file.read_bytes(), self.spent(), self.provider.usd
        cut = self.draw.randrange(
            0, len(whole), 4_096
        )  # else what lacks may be zeros that nothing needs
        file.write_bytes(self.draw.choice([whole[:cut], bytes(len(whole)), b"\xff" * 5_000]))
        with suppress(UnrecordableError):
            assert self.spent() == spent, "never another sum"
        self.run_process("done")
        assert self.provider.usd == bill
        for log in file.parent.glob(f"{file.name}-*"):
            log.unlink()
        file.write_bytes(whole)


def cancelled_future() -> Future[None]:
    """Return a future that nothing comes of."""
    future: Future[None] = Future()
    future.cancel()
    return future


def live(story: Story) -> None:
    """Let a story happen and check what holds at its end."""
    for _ in range(story.draw.randint(1, 3)):
        story.run_process(story.draw.choice(["cancelled", "killed", "done"]))
    if story.draw.random() < 0.3:
        story.damage_journal()
    story.run_process("done")
    provider = story.provider
    twice = {key: n for key, n in provider.billed.items() if n > 1 + provider.lost[key]}
    assert not twice, "paid twice, though the first reply had arrived"
    before, lost = provider.billed.copy(), provider.lost.copy()
    story.run_process("done")
    again = [key for key, number in provider.billed.items() if number > before[key]]
    assert all(before[key] == lost[key] for key in again), "what was kept is paid for again"


@pytest.mark.parametrize("number", seeds(30, 200, 1_000))
def test_no_money_is_lost_whatever_happens(
    tmp_path: Path, number: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in number:
        with monkeypatch.context() as patch:
            live(Story(seed, tmp_path / str(seed), patch))
