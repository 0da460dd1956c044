"""The laws of money for batches, by simulation: real runner and journal, a provider with its bill.

Each seed draws a story: runs that are killed at any step of a batch, two that submit at once,
others that ask one by one meanwhile, batches that fail, expire or end in part, and lines that are
lost or lie.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

from agents.llm.batch.requests import BatchRequests
from agents.llm.batch.runner import BatchRunner
from agents.llm.client import LanguageModel
from agents.llm.prompt import Prompt
from agents.llm.rate_limit import SharedLimiter
from agents.llm.reservations import Reservations
from agents.llm.structured_output import Reply
from infra.errors import CosqaError, LanguageModelError
from infra.journal import Journal
from infra.settings import AnnotationSettings, LanguageModelSettings, StoreSettings
from infra.sqlite import begin
from tests.fakes.billing import MAX_TOKENS, BilledTransport, BillingProvider
from tests.fakes.billing_batches import BillingBatches
from tests.fakes.journals import journal_text, limiter_of
from tests.fuzzing import seeds

PROMPTS = [Prompt(system="Role: screener", user=f"{n}" * (1 + 200 * n)) for n in range(6)]
OTHERS = [Prompt(system="Role: screener", user=f"other {n}") for n in range(3)]
ROUNDING = 1e-12
STEPS = 60  # of a run, at one of which it is killed
PASSES = 20
MOST_USD = 1e-3  # of a short request


class Verdict(Reply):
    """What is asked for."""

    verdict: Literal["yes"]


class Killed(BaseException):
    """The end of a process, which nothing in it survives."""


class Story:
    """A world of runs with batches and a provider, drawn from a seed."""

    def __init__(self, seed: int, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.draw = Random(seed)
        self.store = StoreSettings(folder=folder)
        self.budget = self.draw.choice([None, 0.002, 0.004, 0.01, 1.0])
        self.provider = BillingProvider(
            self.draw, self.look, is_priced=self.draw.random() < 0.8,
            faults=self.draw.choice([0, 0, 0.2, 0.6]),
        )  # fmt: skip
        self.batches = BillingBatches(self.provider, self.draw, self.pass_by)
        self.llm = LanguageModelSettings(
            model="openai/simulated", base_url="http://127.0.0.1:1/v1", budget_usd=self.budget,
            max_tokens=MAX_TOKENS, max_retries=2, max_backoff_s=0.001,
        )  # fmt: skip
        self.annotation = AnnotationSettings(
            batch=True, batch_poll_s=1e-6, batch_requests=self.draw.choice([2, 4, 50])
        )
        self.steps_left: int | None = None
        self.in_flight = 0  # requests one by one
        self.is_exact = not self.provider.faults
        self._journals: list[Journal] = []
        self.set_the_stage(patch)

    def set_the_stage(self, patch: pytest.MonkeyPatch) -> None:
        """Put the provider in its place."""
        batch = "agents.llm.batch"
        patch.setattr("agents.llm.client.Transport", lambda *_: BilledTransport(self.provider))
        patch.setattr(f"{batch}.api.BatchApi", lambda *_: self.batches)
        patch.setattr(f"{batch}.files.batch_price", self.batches.price_of)
        patch.setattr(f"{batch}.files.price_of_usage", self.batches.price_of_usage)
        patch.setattr("agents.llm.reservations._LOOK_S", 0.001)
        patch.setattr("infra.key_locks._FIRST_LOOK_S", 0.0005)
        self.set_the_steps(patch)

    def set_the_steps(self, patch: pytest.MonkeyPatch) -> None:
        """Let a run be killed before and after each change of the journal."""
        write, reserved = Journal.write, Reservations.reserved

        def stepping(journal: Journal, change: Any, *, durable: bool = True) -> Any:
            self.pass_by()
            end = write(journal, change, durable=durable)
            end.exception()  # waits for it
            self.pass_by()
            return end

        def hasty(connection: Any, file: Path) -> None:
            connection.execute("PRAGMA synchronous = OFF")  # for speed
            begin(connection, file)

        @asynccontextmanager
        async def counted(*words: Any) -> AsyncIterator[Any]:
            self.in_flight += 1
            async with reserved(*words) as settle:
                yield settle
            self.in_flight -= 1

        patch.setattr(Journal, "write", stepping)
        patch.setattr("infra.journal.begin", hasty)
        patch.setattr(Reservations, "reserved", counted)

    def pass_by(self) -> None:
        """Count a step; a process that was killed takes none any more.

        Raises:
            Killed: This step is the last one.
        """
        if self.steps_left is None:
            return
        self.steps_left -= 1
        if self.steps_left <= 0:
            raise Killed

    def spent(self) -> float:
        """Return what the ledger says."""
        return limiter_of(self.store, self.llm).spent()[1]

    def look(self, provider: BillingProvider) -> None:
        """Check what holds at every moment: the ledger covers the bill, the bill the budget."""
        if not (provider.is_priced and self.budget):
            return  # nothing can be reserved of a price that is not known
        assert provider.usd <= self.budget + ROUNDING
        assert self.spent() >= provider.usd - ROUNDING

    def run_process(self, *, is_killed: bool) -> bool:
        """Let a run go on to its end or until it is killed; return whether nothing waits then."""
        self.steps_left = self.draw.randint(1, STEPS) if is_killed else None
        loop = asyncio.new_event_loop()
        tasks = [loop.create_task(self.run())]
        if self.draw.random() < 0.3:
            tasks.append(loop.create_task(self.ask(self.model(), OTHERS)))
        try:
            loop.run_until_complete(asyncio.wait(tasks, timeout=60))
            assert all(task.done() for task in tasks), "every run ends"
            ends = [task.exception() for task in tasks]
            assert all(end is None or isinstance(end, Killed) for end in ends), ends
            if any(ends) and self.in_flight:
                self.is_exact = False  # what is reserved for a request in flight stays so
            return tasks[0].exception() is None and tasks[0].result()
        finally:
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()
            self.bury()

    async def run(self) -> bool:
        """Ask and answer by turns, as a run does; return whether nothing waits at the end."""
        requests = self.requests()
        model = self.model(requests)
        requests.forget_waiting()
        for _ in range(PASSES):
            await self.ask(model, PROMPTS)
            runners = [self.runner() for _ in range(self.draw.choice([1, 1, 2]))]
            ends = await asyncio.gather(
                *(runner.answer_all() for runner in runners), return_exceptions=True
            )
            if killed := next((end for end in ends if isinstance(end, Killed)), None):
                raise killed
            assert all(isinstance(end, bool | CosqaError) for end in ends), ends
            if any(isinstance(end, LanguageModelError) for end in ends):
                return False
            if True not in ends:
                requests.clear()
                return True
        return False

    async def ask(self, model: LanguageModel, prompts: list[Prompt]) -> bool:
        """Ask some prompts, in any order; whatever comes of it, it is an error of ours."""
        for prompt in self.draw.sample(prompts, len(prompts)):
            try:
                await model.ask("screener", prompt, Verdict)
            except LanguageModelError:
                continue
        return True

    def journal(self) -> Journal:
        """Return another connection to the journal."""
        self._journals.append(Journal(self.store.journal))
        return self._journals[-1]

    def model(self, requests: BatchRequests | None = None) -> LanguageModel:
        """Return another client of the store."""
        return LanguageModel(self.llm, self.journal(), deferral=requests)

    def requests(self) -> BatchRequests:
        """Return the requests for another client."""
        return BatchRequests(SharedLimiter(self.journal(), self.llm))

    def runner(self) -> BatchRunner:
        """Return another runner of batches."""
        return BatchRunner(self.llm, self.annotation, self.journal(), lambda *_: None)

    def bury(self) -> None:
        """Wait for what a process had handed over to the disk, and drop its locks."""
        self.steps_left, self.in_flight = None, 0
        for journal in self._journals:
            journal.close()
        self._journals.clear()
        self.provider.die(self.kept())

    def kept(self) -> set[int]:
        """Return the numbers of the bills whose replies are kept."""
        text = journal_text(self.store.folder)
        return {int(number) for number in re.findall(r"bill (\d+):", text)}


def live(story: Story) -> None:
    """Let a story happen and check what holds at its end."""
    for _ in range(story.draw.randint(1, 6)):
        story.run_process(is_killed=story.draw.random() < 0.8)
    provider, provider.faults = story.provider, 0.0
    is_done = any(story.run_process(is_killed=False) for _ in range(PASSES))
    is_rich = not story.budget or (provider.is_priced and story.budget == 1.0)
    assert is_done or not is_rich, "what can be paid for is answered"
    twice = {key: n for key, n in provider.billed.items() if n > 1 + provider.lost[key]}
    assert not twice, "paid twice, though the first reply could be fetched"
    if not is_done:
        return
    assert story.batches.arrived() <= story.kept(), "paid, and lost"
    assert provider.billed.total() >= len(PROMPTS)
    if story.is_exact and provider.is_priced:
        assert story.spent() == pytest.approx(provider.usd), "a reservation leaked"
    before = provider.usd
    is_done = story.run_process(is_killed=False)
    assert is_done or not is_rich, "without a known price a run beside another may stop early"
    assert provider.usd - before <= len(OTHERS) * MOST_USD, "what was kept is paid for again"


@pytest.mark.parametrize("number", seeds(20, 60, 200))
def test_no_money_of_a_batch_is_lost_whatever_happens(
    tmp_path: Path, number: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in number:
        with monkeypatch.context() as patch:
            live(Story(seed, tmp_path / str(seed), patch))
