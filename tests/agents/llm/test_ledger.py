"""Laws of a model's ledger: the pace and the budget that all share, with the journal under it."""

import asyncio
import multiprocessing
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agents.llm.ledger import JournalLedger, Reservation, journal_ledger
from infra.errors import BudgetExhaustedError, UnknownPriceError, UnrecordableError
from infra.settings import LanguageModelSettings, StoreSettings
from tests.agents.conftest import CLEAR, Bench, rule
from tests.fakes.journals import spend
from tests.fakes.modules import with_others
from tests.fakes.sandbox import PASSED, FakeSandbox

Clock = Callable[[float], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still until it is set, or somebody sleeps."""
    now, sleep = [1_000_000.0], asyncio.sleep
    monkeypatch.setattr("agents.llm.ledger.time", with_others(time, monotonic=lambda: now[0]))

    def pass_by(seconds: float) -> None:
        now[0] += seconds

    async def asleep(seconds: float) -> None:
        pass_by(seconds)
        await sleep(0)

    monkeypatch.setattr("agents.llm.ledger.asyncio", with_others(asyncio, sleep=asleep))
    vars(pass_by)["now"] = now
    return pass_by


def ledger(folder: Path, **settings: Any) -> JournalLedger:
    llm = LanguageModelSettings(**{"model": "openai/x", **settings})
    return journal_ledger(StoreSettings(folder=folder), llm)


async def wait(book: JournalLedger, clock: Clock, tokens: int = 10) -> tuple[float, Reservation]:
    """Reserve for a request; return how long it waited for its turn, and the reservation."""
    [now] = vars(clock)["now"]
    made = await book.wait_for_rate_limit(await book.reserve(tokens))
    book._limiter.leave(made.number, is_reply=False)  # another law's
    return vars(clock)["now"][0] - now, made


async def waits(book: JournalLedger, clock: Clock, times: int, tokens: int = 10) -> list[float]:
    return [(await wait(book, clock, tokens))[0] for _ in range(times)]


async def test_requests_are_spaced_evenly(tmp_path: Path, clock: Clock) -> None:
    book = ledger(tmp_path, requests_per_minute=120)
    assert await waits(book, clock, 3) == pytest.approx([0, 0.5, 0.5])
    clock(60)
    assert await waits(book, clock, 2) == pytest.approx([0, 0.5]), "no arrears"


async def test_requests_that_wait_together_are_sent_in_order_each_in_its_turn(
    tmp_path: Path, clock: Clock
) -> None:
    book, sent = ledger(tmp_path, requests_per_minute=120), list[tuple[int, float]]()

    async def send(number: int) -> None:
        made = await book.wait_for_rate_limit(await book.reserve(1))
        sent.append((number, vars(clock)["now"][0] - 1_000_000.0))
        await book.commit(made, 1, 0.0)

    await asyncio.gather(*map(send, range(9)))
    assert [number for number, _ in sent] == [*range(9)]
    assert [moment for _, moment in sent] == pytest.approx([n / 2 for n in range(9)])


async def test_a_turn_that_is_taken_late_does_not_lower_the_rate(
    tmp_path: Path, clock: Clock
) -> None:
    book = ledger(tmp_path, requests_per_minute=120)
    await wait(book, clock)
    for _ in range(9):
        clock(0.05)  # between the moment at which it may be sent and the look
        assert (await wait(book, clock))[0] < 0.46
    assert (await wait(book, clock))[0] == pytest.approx(0.5)


async def test_tokens_are_spaced_by_what_requests_take(tmp_path: Path, clock: Clock) -> None:
    book = ledger(tmp_path, tokens_per_minute=6_000)
    waited, first = await wait(book, clock, 1_000)
    assert waited == 0
    assert await waits(book, clock, 1, 100) == pytest.approx([10.0])
    await book.commit(first, 400, 0.0)
    clock(60)
    await wait(book, clock, 9_000)
    assert await waits(book, clock, 1, 9_000) == pytest.approx([4.0]), "as requests usually take"


async def test_without_limits_nobody_waits(tmp_path: Path, clock: Clock) -> None:
    assert await waits(ledger(tmp_path), clock, 3, 10**6) == [0, 0, 0]


async def test_what_is_reserved_counts_as_spent_until_it_is_committed(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    made = await book.reserve(500)
    assert ledger(tmp_path).spent() == (500, 0.0)
    await book.commit(made, 120, 0.02)
    assert ledger(tmp_path).spent() == (120, 0.02)
    await book.commit(await book.reserve(500), 0, 0.0)
    tokens, usd = ledger(tmp_path).spent()
    assert (tokens, round(usd, 9)) == (120, 0.02)
    await book.abandon(await book.reserve(30, 0.5))
    tokens, usd = ledger(tmp_path).spent()
    assert (tokens, round(usd, 9)) == (150, 0.52), "it may have been billed"


@pytest.mark.parametrize("same", [{"base_url": "http://y"}, {"api_key": SecretStr("y")}])
async def test_a_budget_is_of_a_model_by_whatever_address_and_key(
    tmp_path: Path, same: dict[str, Any]
) -> None:
    await ledger(tmp_path).reserve(500)
    assert ledger(tmp_path, **same).spent() == (500, 0.0)
    assert ledger(tmp_path, model="openai/y", **same).spent() == (0, 0.0)


async def test_what_is_reserved_of_a_budget_survives_a_loss_of_power(tmp_path: Path) -> None:
    for settings, synchronous in (({}, 1), ({"budget_usd": 1.0}, 2), ({"budget_tokens": 9}, 2)):
        book = ledger(tmp_path, **settings)
        await book.reserve(1, 0.1)
        connection = book._journal._writer.opened(make=False)
        assert connection.execute("PRAGMA synchronous").fetchone() == (synchronous,)


async def test_a_request_that_took_absurdly_much_holds_nobody_up(
    tmp_path: Path, clock: Clock
) -> None:
    book = ledger(tmp_path, tokens_per_minute=6_000)
    _, made = await wait(book, clock, 1_000)
    await book.commit(made, 10**9, 0.0)
    assert (await wait(book, clock, 1_000))[0] <= 10.001


def test_no_key_is_written_down(tmp_path: Path) -> None:
    spend(ledger(tmp_path, api_key=SecretStr("sk-secret"), requests_per_minute=60), 1, None)
    assert {file.name for file in tmp_path.iterdir()} >= {"journal.sqlite", "journal.sqlite-wal"}
    assert not any(b"secret" in file.read_bytes() for file in tmp_path.iterdir())


def test_a_budget_of_tokens_is_never_exceeded(tmp_path: Path) -> None:
    book = ledger(tmp_path, budget_tokens=1_000)
    spend(book, 600, None)
    with pytest.raises(BudgetExhaustedError, match="600 of COSQA_LLM__BUDGET_TOKENS=1,000"):
        spend(book, 401, None)
    spend(book, 400, None)
    spend(ledger(tmp_path, budget_tokens=2_000), 900, None)  # a higher one goes on


async def test_a_budget_of_money_reserves_what_the_dearest_request_took(tmp_path: Path) -> None:
    book = ledger(tmp_path, budget_usd=1.0)
    for usd in (0.4, 0.3):
        await book.commit(await book.reserve(1), 1, usd)
    with pytest.raises(BudgetExhaustedError, match="COSQA_LLM__BUDGET_USD=1"):
        await book.reserve(1)


def test_a_budget_of_money_stops_a_model_whose_price_is_unknown(tmp_path: Path) -> None:
    book = ledger(tmp_path, budget_usd=1.0)
    spend(book, 1, None)
    with pytest.raises(UnknownPriceError, match=r"price of openai/x is unknown.*BUDGET_TOKENS"):
        spend(book, 1, None)


def _spend_often(folder: Path) -> None:
    book = ledger(folder)

    async def often() -> None:
        for _ in range(200):
            await book.commit(await book.reserve(7), 3, 0.5)

    asyncio.run(often())


def test_processes_that_share_a_journal_lose_no_entry(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_spend_often, args=(tmp_path,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert ledger(tmp_path).spent() == (1_800, 300.0)


async def test_who_asks_the_same_at_the_same_time_asks_after_one_another(tmp_path: Path) -> None:
    """Whatever becomes of the first; in any order of keys, and none waits for another's."""
    book, events = ledger(tmp_path), list[str]()

    async def ask(name: str, keys: list[str]) -> None:
        async with book.asking(keys):
            events.append(f"{name} begins")
            await asyncio.sleep(0.01)
            events.append(f"{name} ends")

    first = asyncio.create_task(ask("cancelled", ["a", "b"]))
    await asyncio.sleep(0)
    rest = [ask("one", ["b", "a", "a"]), ask("other", ["a", "b"]), ask("apart", ["c"])]
    waiting = asyncio.gather(*rest)
    await asyncio.sleep(0)
    first.cancel()
    async with asyncio.timeout(5):
        await waiting
    assert events[0] == "cancelled begins"
    ordered = [event for event in events[1:] if "apart" not in event]
    assert ordered == ["one begins", "one ends", "other begins", "other ends"]
    assert events.index("apart begins") < events.index("one ends")


async def test_nothing_is_requested_that_a_full_disk_might_not_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for free_mb, is_refused in ((64, False), (63.5, True), (0, True), (64, False)):
        monkeypatch.setattr("agents.llm.ledger.free_bytes", lambda _, free=free_mb: free * 2**20)
        expected = pytest.raises(UnrecordableError, match=r"63.5|0.0") if is_refused else None
        with expected or nullcontext() as caught:
            await ledger(tmp_path).reserve(1)
        if caught:
            assert all(words in str(caught.value) for words in (str(tmp_path), "64 MiB", "--store"))


async def test_a_reply_from_the_store_costs_no_budget(bench: Bench) -> None:
    bench.serve([rule("screener", CLEAR)])
    assert await bench.screen() == "clear_match"
    poor = bench.model(budget_tokens=1)
    assert await bench.screen(poor) == "clear_match"


async def test_a_spent_budget_stops_the_committee_and_a_higher_one_lets_it_go_on(
    bench: Bench,
) -> None:
    server = bench.serve([rule("screener", CLEAR)])
    sandbox = FakeSandbox(lambda program, installed: PASSED)
    with pytest.raises(BudgetExhaustedError, match="run the same command again"):
        await bench.committee(sandbox, budget_tokens=100).judge(bench.pair)
    assert server.calls == []
    annotation = await bench.committee(sandbox, budget_tokens=100_000).judge(bench.pair)
    assert annotation.status == "labelled"


async def test_a_request_that_brought_no_reply_is_not_spent(bench: Bench) -> None:
    bench.serve([rule("screener", {"status": 500}, CLEAR)])
    await bench.screen()
    tokens, _ = ledger(bench.folder, model="openai/scripted").spent()
    asked = sum(len(m["content"].split()) for m in bench.server.calls[-1]["messages"])
    assert asked < tokens < asked + 20
