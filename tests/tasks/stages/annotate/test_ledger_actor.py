"""Laws of the journal's owner: what workers ask of it together, and what it takes back."""

import asyncio
import os
import signal
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
import ray
from ray.exceptions import RayTaskError, WorkerCrashedError

from agents.llm.ledger import journal_ledger
from agents.llm.reply import RawReply
from agents.llm.retry import RequestError
from infra.budget import Budget
from infra.errors import BudgetExhaustedError, CosqaError, UnrecordableError, WorkerLostError
from infra.journal import Journal
from infra.ray import ensure_ray
from infra.settings import LanguageModelSettings, RaySettings, StoreSettings
from tasks.stages.annotate.ledger_actor import LedgerActor, LedgerHandle, RemoteLedger, RunBudget
from tests.waiting import eventually

IN_FLIGHT = 4
KEYS = [f"{number:020x}" for number in range(50)]


class Here:
    """An owner in this process, which is called as Ray's actor is.

    Attributes:
        called: Method → how often.
    """

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.store = StoreSettings(folder=folder)
        self.llm = LanguageModelSettings(**{"model": "openai/x", **settings})
        self.called = Counter[str]()
        self.terms = RunBudget(self.store, self.llm, Budget(), IN_FLIGHT)
        self.owner = LedgerActor(self.terms)
        names = ("rpc_batch", "flush", "reserve", "wait_for_rate_limit", "acquire_slots", "release")
        self._handle = SimpleNamespace(
            **{name: SimpleNamespace(remote=partial(self._call, name)) for name in names}
        )

    def worker(self, attempt: str) -> RemoteLedger:
        """Return the ledger of another worker."""
        return RemoteLedger(self._handle, attempt, self.llm)

    @property
    def exchanges(self) -> int:
        """Number of exchanges."""
        return self.called["rpc_batch"]

    def spent(self) -> tuple[int, float]:
        """Return the tokens and US dollars that are spent."""
        return journal_ledger(self.store, self.llm).spent()

    async def _call(self, name: str, *asked: Any) -> Any:
        self.called[name] += 1
        try:
            return await asyncio.shield(getattr(self.owner, name)(*asked))  # as on Ray
        except CosqaError as error:
            made: Any = RayTaskError
            raise made(name, "", error).as_instanceof_cause() from None


async def pay(ledger: RemoteLedger, key: str) -> None:
    async with ledger.asking([key]):
        assert await ledger.find(key) is None
        async with ledger.reserved(200, 0.5) as commit:
            await commit(30, 0.25, [(key, RawReply(text=key))])
    await ledger.flush()


async def settled() -> None:
    """Let all go on that can."""
    for _ in range(20):
        await asyncio.sleep(0.005)


async def test_what_workers_pay_for_at_once_is_kept_once_and_travels_together(
    tmp_path: Path,
) -> None:
    here = Here(tmp_path, budget_usd=100.0, requests_per_minute=600_000)
    workers = [here.worker("a"), here.worker("b")]
    halves = [(workers[place % 2], key) for place, key in enumerate(KEYS)]
    await asyncio.gather(*(pay(worker, key) for worker, key in halves))
    assert here.spent() == (30 * len(KEYS), 0.25 * len(KEYS))
    assert here.exchanges < 3 * len(KEYS) / 2, "of three calls a reply"
    found = await asyncio.gather(*map(workers[0].find, KEYS))
    assert [reply.text for reply in found if reply] == KEYS
    for worker in workers:
        await worker.close()
    assert here.owner._attempts == {}


async def test_a_reply_on_its_way_to_the_owner_is_found_and_its_worker_goes_on(
    tmp_path: Path,
) -> None:
    here = Here(tmp_path)
    worker = here.worker("a")
    async with worker.reserved(200, 0.5) as commit:
        before = here.exchanges
        await commit(30, 0.25, [(KEYS[0], RawReply(text="said"))])
    found = await worker.find(KEYS[0])
    assert (here.exchanges, found and found.text) == (before, "said")
    await worker.close()
    assert here.spent() == (30, 0.25), "closed before it was written"
    other = await here.worker("b").find(KEYS[0])
    assert other is not None
    assert other.text == "said"


async def test_a_reply_that_could_not_be_written_is_told_of_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Here(tmp_path)
    worker = here.worker("a")
    full = AsyncMock(side_effect=UnrecordableError("no room"))
    monkeypatch.setattr(here.owner._ledger, "commit", full)
    async with worker.reserved(200, 0.5) as commit:
        await commit(30, 0.25, [(KEYS[0], RawReply(text="said"))])
    for _ in range(2):
        with pytest.raises(UnrecordableError, match="no room"):
            await worker.flush()
    await worker.close()


async def test_pairs_that_are_judged_are_counted_until_their_attempt_ends(tmp_path: Path) -> None:
    here = Here(tmp_path)
    one, other = here.worker("a"), here.worker("b")
    for worker in (one, one, other):
        worker.count_judged()
    await asyncio.gather(one.find(KEYS[0]), other.find(KEYS[0]))
    assert await here.owner.activity() == (2, 3, 0, "")
    await other.find(KEYS[0], 70, 0.5)
    assert (await here.owner.activity()).reserved_usd == 0.5
    await one.close()
    assert await here.owner.activity() == (1, 1, 0.5, "")


async def test_a_failure_in_one_worker_lets_all_wait_and_is_told(tmp_path: Path) -> None:
    here = Here(tmp_path)
    failure = replace(RequestError(500, "slow down", retry_after="20"), status=429)
    with pytest.raises(RequestError):
        async with here.worker("a").reserved(200, 0.5):
            raise failure
    await eventually(lambda: "asks to wait (429)" in here.owner._ledger.trouble)
    assert here.spent() == (0, 0.0), "what is not billed is given back"
    other = here.worker("b")
    waiting = asyncio.create_task(other.wait_for_rate_limit(await other.reserve(10)))
    await settled()
    assert not waiting.done()
    here.owner._ledger._limiter._resumes_at = 0.0
    here.owner._ledger._limiter._changed.set()
    assert (await waiting).has_turn


async def test_errors_of_the_ledger_are_raised_in_the_worker_that_asked(tmp_path: Path) -> None:
    here = Here(tmp_path, budget_usd=0.6)
    one, other = here.worker("a"), here.worker("b")
    await pay(one, KEYS[0])
    with pytest.raises(BudgetExhaustedError, match=r"=0\.6 are spent"):
        await pay(other, KEYS[1])


@pytest.mark.parametrize("by", ["the flow", "the next try", "the worker"])
async def test_of_an_attempt_that_has_ended_only_requests_on_the_wire_stay_charged(
    tmp_path: Path, by: str
) -> None:
    here = Here(tmp_path, requests_per_minute=1)
    worker = here.worker("shard 7")
    await worker.wait_for_rate_limit(await worker.reserve(10))
    reservation = await worker.reserve(20)
    waiting = asyncio.create_task(worker.wait_for_rate_limit(reservation))  # it comes in a minute
    await settled()
    assert here.spent() == (30, 0.0)
    if by == "the flow":
        await here.owner.release("shard 7")
    elif by == "the next try":
        assert await here.worker("shard 7").find(KEYS[0]) is None
    else:
        await worker.close()
    with pytest.raises(WorkerLostError):
        await waiting
    await settled()
    assert here.spent() == (10, 0.0)


async def test_what_a_lost_attempt_had_reserved_counts_as_spent_by_all(tmp_path: Path) -> None:
    here = Here(tmp_path, budget_tokens=100)
    await here.worker("lost").find(KEYS[0], 80)
    waiting = asyncio.create_task(here.worker("other").reserve(80))
    await settled()
    assert not waiting.done(), "it may give back what it has"
    await here.owner.release("lost")
    with pytest.raises(BudgetExhaustedError):
        await waiting


async def test_a_reply_that_is_not_found_is_reserved_for_in_the_same_exchange(
    tmp_path: Path,
) -> None:
    here = Here(tmp_path, budget_tokens=100)
    worker = here.worker("a")
    assert await worker.find(KEYS[0], 70, 0.5) is None
    assert (here.exchanges, here.spent()) == (1, (70, 0.5))
    async with worker.reserved(70, 0.5) as commit:
        assert here.exchanges == 1
        await commit(30, 0.25, [(KEYS[0], RawReply(text="said"))])
    await worker.flush()
    assert await here.worker("b").find(KEYS[0], 70, 0.5) is not None
    assert here.spent() == (30, 0.25), "for a stored reply nothing is reserved"
    assert await worker.find(KEYS[1], 71, 0.5) is None
    with pytest.raises(BudgetExhaustedError):
        await worker.reserve(71, 0.5)


@pytest.mark.parametrize("ends", ["closed", "lost"])
async def test_a_reservation_of_a_request_that_was_never_made_costs_at_most_itself(
    tmp_path: Path, ends: str
) -> None:
    here = Here(tmp_path)
    worker = here.worker("a")
    assert await worker.find(KEYS[0], 70, 0.5) is None
    finding = asyncio.create_task(worker.find(KEYS[1], 80, 0.5))
    await asyncio.sleep(0)
    finding.cancel()
    await eventually(lambda: here.exchanges == 3 and here.spent() == (70, 0.5))
    if ends == "closed":
        await worker.close()
        assert here.spent() == (0, 0.0)
    else:  # it may have been on the wire
        await here.owner.release("a")
        assert here.spent() == (70, 0.5)


async def test_a_request_that_is_cancelled_in_its_worker_costs_nothing(tmp_path: Path) -> None:
    here = Here(tmp_path)
    worker = here.worker("a")
    waiting = asyncio.create_task(worker.reserve(20))
    await asyncio.sleep(0)
    waiting.cancel()
    await eventually(lambda: here.exchanges == 2 and here.spent() == (0, 0.0))


async def test_a_request_that_is_cancelled_before_its_turn_costs_nothing_at_the_end(
    tmp_path: Path,
) -> None:
    here = Here(tmp_path, requests_per_minute=1)
    worker = here.worker("a")

    async def ask() -> None:
        async with worker.reserved(20, None):
            pass

    async with worker.reserved(10, 0.5) as commit:
        waiting = asyncio.create_task(ask())
        await eventually(lambda: here.called["wait_for_rate_limit"] == 2)
        waiting.cancel()
        await commit(10, 0.5)
    here.owner._ledger._rate_limiter._next_request = 0.0
    await eventually(lambda: not here.owner._attempts["a"].calls)
    await worker.close()
    assert here.spent() == (10, 0.5)
    assert Journal(here.store.journal).spent("openai/x").unpriced == 0


async def test_workers_together_judge_as_many_pairs_as_there_are_slots(tmp_path: Path) -> None:
    here, judging, most = Here(tmp_path), 0, 0

    async def judge(worker: RemoteLedger) -> None:
        nonlocal judging, most
        assert await worker.acquire_slots(1) == 1
        judging += 1
        most = max(most, judging)
        await asyncio.sleep(0.002)
        judging -= 1
        worker.release_slots(1)

    workers = [here.worker(name) for name in "abc"]
    await asyncio.gather(*(judge(worker) for worker in workers for _ in range(9)))
    assert most == IN_FLIGHT
    await asyncio.gather(*(worker.flush() for worker in workers))
    assert await workers[0].acquire_slots(9) == IN_FLIGHT


async def test_slots_of_a_lost_attempt_are_free(tmp_path: Path) -> None:
    here = Here(tmp_path)
    first, second, third = (here.worker(name) for name in "abc")
    await first.acquire_slots(IN_FLIGHT)
    waiting = [asyncio.create_task(worker.acquire_slots(1)) for worker in (second, third)]
    await settled()
    await here.owner.release("b")
    await here.owner.release("a")
    async with asyncio.timeout(5):
        assert await waiting[1] == 1
    assert await here.worker("d").acquire_slots(9) == IN_FLIGHT - 1
    with pytest.raises(WorkerLostError):
        await waiting[0]


@pytest.mark.parametrize("steps", range(8))
async def test_a_slot_that_comes_as_its_attempt_ends_is_not_lost(
    tmp_path: Path, steps: int
) -> None:
    here = Here(tmp_path)
    await here.worker("a").acquire_slots(IN_FLIGHT)
    waiting = asyncio.create_task(here.worker("b").acquire_slots(9))
    await settled()
    releasing = asyncio.create_task(here.owner.release("a"))
    for _ in range(steps):  # of the event loop
        await asyncio.sleep(0)
    await here.owner.release("b")
    await asyncio.gather(waiting, releasing, return_exceptions=True)
    async with asyncio.timeout(5):
        assert await here.worker("c").acquire_slots(9) == IN_FLIGHT


async def test_slots_of_a_worker_that_is_no_longer_heard_are_free(tmp_path: Path) -> None:
    here = Here(tmp_path)
    silent, other = here.worker("a"), here.worker("b")
    await silent.acquire_slots(IN_FLIGHT)
    waiting = asyncio.create_task(other.acquire_slots(9))
    await settled()
    assert await here.owner.activity() == (2, 0, 0, "")
    assert not waiting.done()
    here.owner._attempts["a"].heard -= 31
    assert await here.owner.activity() == (1, 0, 0, "")
    async with asyncio.timeout(5):
        assert await waiting == IN_FLIGHT
    silent.release_slots(IN_FLIGHT)  # it was only slow
    await silent.flush()
    assert await here.owner.activity() == (2, 0, 0, "")
    waiting = asyncio.create_task(silent.acquire_slots(1))
    await settled()
    assert not waiting.done(), "its slots were taken back once"
    await silent.close()
    with pytest.raises(WorkerLostError):
        await waiting
    await other.close()


async def test_a_worker_is_heard_while_all_its_pairs_wait_for_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.stages.annotate.ledger_actor._HEARTBEAT_S", 0.001)
    here = Here(tmp_path)
    worker = here.worker("a")
    await worker.acquire_slots(1)
    here.owner._attempts["a"].heard -= 31
    await eventually(lambda: here.exchanges > 3)
    assert await here.owner.activity() == (1, 0, 0, "")
    await worker.close()
    await settled()
    exchanges = here.exchanges
    await settled()
    assert here.exchanges == exchanges


def _work(owner: LedgerHandle, attempt: str, *, dies: bool) -> int:
    """Pay for some replies in another process; or die with a request on the wire."""

    async def work() -> int:
        ledger = owner.ledger(attempt)
        if dies:
            await ledger.reserve(7)
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.gather(*(pay(ledger, f"{attempt}{key[2:]}") for key in KEYS))
        await ledger.close()
        return os.getpid()

    return asyncio.run(work())


@pytest.mark.exhaustive
def test_processes_on_ray_share_an_owner_which_outlives_them_and_not_the_reverse(
    tmp_path: Path,
) -> None:
    ensure_ray(RaySettings())
    store, llm = StoreSettings(folder=tmp_path), LanguageModelSettings(model="openai/x")
    remote: Any = ray.remote(num_cpus=0, max_retries=0)
    by_value: Any = ray.cloudpickle.register_pickle_by_value
    by_value(sys.modules[__name__])  # workers import no tests
    work = remote(_work)
    with LedgerHandle(RunBudget(store, llm, Budget(), IN_FLIGHT)) as owner:
        with pytest.raises(WorkerCrashedError):
            ray.get(work.remote(owner, "cc", dies=True))
        ray.get([work.remote(owner, attempt, dies=False) for attempt in ("aa", "bb")])
    spent = journal_ledger(store, llm).spent()
    assert spent == (2 * 30 * len(KEYS) + 7, 0.5 * len(KEYS))
    with LedgerHandle(RunBudget(store, llm, Budget(), IN_FLIGHT)) as owner:
        ray.kill(owner._actor)
        with pytest.raises(WorkerLostError, match="run the same command again"):
            asyncio.run(owner.ledger("a").find(KEYS[0]))
