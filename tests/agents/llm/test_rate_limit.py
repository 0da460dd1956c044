"""Laws of the rate limit and the budget that processes share, with the journal under them."""

import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agents.llm.rate_limit import SharedLimiter, Ticket
from infra.errors import BudgetExhaustedError
from infra.records import Pair
from infra.settings import LanguageModelSettings, StoreSettings
from tests.agents.conftest import CLEAR, Bench, Screen, rule
from tests.fakes.journals import limiter_of
from tests.fakes.sandbox import PASSED, FakeSandbox

Clock = Callable[[float], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still until it is set."""
    now = [1_000_000.0]
    monkeypatch.setattr("agents.llm.rate_limit.time.time", lambda: now[0])

    def pass_by(seconds: float) -> None:
        now[0] += seconds

    return pass_by


def ledger(folder: Path, **settings: Any) -> SharedLimiter:
    llm = LanguageModelSettings(**{"model": "openai/x", **settings})
    return limiter_of(StoreSettings(folder=folder), llm)


def wait(book: SharedLimiter, clock: Clock, tokens: int = 10) -> tuple[float, Ticket]:
    """Send a request as soon as it has its turn; return how long it waited, and its ticket."""
    waited, ticket = 0.0, book.reserve(tokens).result()
    while True:
        if not book.is_paced:
            return waited, ticket
        seconds, ticket = book.take_turn(ticket).result()
        if not seconds:
            return waited, ticket
        clock(seconds)
        waited += seconds


def test_requests_are_spaced_evenly(tmp_path: Path, clock: Clock) -> None:
    book = ledger(tmp_path, requests_per_minute=120)
    assert [wait(book, clock)[0] for _ in range(3)] == pytest.approx([0, 0.5, 0.5])
    clock(60)
    assert [wait(book, clock)[0] for _ in range(2)] == pytest.approx([0, 0.5]), "no arrears"


def test_a_turn_that_is_taken_late_does_not_lower_the_rate(tmp_path: Path, clock: Clock) -> None:
    book = ledger(tmp_path, requests_per_minute=120)
    wait(book, clock)
    for _ in range(9):
        clock(0.05)  # between the moment at which it may be sent and the look
        assert wait(book, clock)[0] < 0.46
    assert wait(book, clock)[0] == pytest.approx(0.5)


def test_tokens_are_spaced_by_what_requests_take(tmp_path: Path, clock: Clock) -> None:
    book = ledger(tmp_path, tokens_per_minute=6_000)
    waited, first = wait(book, clock, 1_000)
    assert waited == 0
    assert book.take_turn(book.reserve(100).result()).result()[0] == pytest.approx(10.0)
    book.settle(first, 400, 0.0).result()
    assert wait(book, clock, 9_000)[0] == pytest.approx(4.0)
    assert wait(book, clock, 9_000)[0] == pytest.approx(4.0), "paced by what requests usually take"


def test_without_limits_nobody_waits(tmp_path: Path, clock: Clock) -> None:
    book = ledger(tmp_path)
    assert [wait(book, clock, 10**6)[0] for _ in range(3)] == [0, 0, 0]


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_a_clock_that_jumps_holds_nobody_up(tmp_path: Path, clock: Clock, jump: float) -> None:
    book = ledger(tmp_path, requests_per_minute=60, tokens_per_minute=60_000)
    for _ in range(2):
        wait(book, clock, 1_000)
    clock(jump)
    assert [wait(book, clock, 1_000)[0] for _ in range(2)] == pytest.approx(
        [1, 1] if jump < 0 else [0, 1]
    )
    clock(-jump)
    assert sum(wait(book, clock, 1_000)[0] for _ in range(2)) <= 2.001


def test_what_is_reserved_counts_as_spent_until_it_is_settled(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    ticket = book.reserve(500).result()
    assert ledger(tmp_path).spent() == (500, 0.0)
    book.settle(ticket, 120, 0.02).result()
    assert ledger(tmp_path).spent() == (120, 0.02)
    book.settle(book.reserve(500).result(), 0, 0.0).result()
    tokens, usd = ledger(tmp_path).spent()
    assert (tokens, round(usd, 9)) == (120, 0.02)


@pytest.mark.parametrize("same", [{"base_url": "http://y"}, {"api_key": SecretStr("y")}])
def test_a_budget_is_of_a_model_by_whatever_address_and_key(
    tmp_path: Path, same: dict[str, Any]
) -> None:
    ledger(tmp_path).reserve(500).result()
    assert ledger(tmp_path, **same).spent() == (500, 0.0)
    assert ledger(tmp_path, model="openai/y", **same).spent() == (0, 0.0)


@pytest.mark.parametrize("other", [{"base_url": "http://y"}, {"api_key": SecretStr("y")}])
def test_each_server_and_key_has_a_pace_of_its_own(
    tmp_path: Path, clock: Clock, other: dict[str, Any]
) -> None:
    wait(ledger(tmp_path, requests_per_minute=1), clock)
    assert wait(ledger(tmp_path, requests_per_minute=1, **other), clock)[0] == 0


def test_what_is_reserved_of_a_budget_survives_a_loss_of_power(tmp_path: Path) -> None:
    for settings, synchronous in (({}, 1), ({"budget_usd": 1.0}, 2), ({"budget_tokens": 9}, 2)):
        book = ledger(tmp_path, **settings)
        book.reserve(1, 0.1).result()
        connection = book.journal._writer.opened(make=False)
        assert connection.execute("PRAGMA synchronous").fetchone() == (synchronous,)


def test_a_request_that_took_absurdly_much_holds_nobody_up(tmp_path: Path, clock: Clock) -> None:
    book = ledger(tmp_path, tokens_per_minute=6_000)
    _, ticket = wait(book, clock, 1_000)
    book.settle(ticket, 10**9, 0.0).result()
    assert wait(book, clock, 1_000)[0] <= 10.001


def test_no_key_is_written_down(tmp_path: Path, clock: Clock) -> None:
    wait(ledger(tmp_path, api_key=SecretStr("sk-secret"), requests_per_minute=60), clock)
    assert {file.name for file in tmp_path.iterdir()} >= {"journal.sqlite", "journal.sqlite-wal"}
    assert not any(b"secret" in file.read_bytes() for file in tmp_path.iterdir())


def test_a_budget_of_tokens_is_never_exceeded(tmp_path: Path) -> None:
    book = ledger(tmp_path, budget_tokens=1_000)
    book.settle(book.reserve(600).result(), 600, 0.0).result()
    with pytest.raises(BudgetExhaustedError, match="600 of COSQA_LLM__BUDGET_TOKENS=1,000"):
        book.reserve(401).result()
    book.reserve(400).result()
    ledger(tmp_path, budget_tokens=2_000).reserve(900).result()  # a higher one goes on


def test_a_budget_of_money_reserves_what_the_dearest_request_took(tmp_path: Path) -> None:
    book = ledger(tmp_path, budget_usd=1.0)
    book.settle(book.reserve(1).result(), 1, 0.4).result()
    book.settle(book.reserve(1).result(), 1, 0.3).result()
    with pytest.raises(BudgetExhaustedError, match="COSQA_LLM__BUDGET_USD=1"):
        book.reserve(1).result()


def test_a_budget_of_money_stops_a_model_whose_price_is_unknown(tmp_path: Path) -> None:
    book = ledger(tmp_path, budget_usd=1.0)
    book.settle(book.reserve(1).result(), 1, None).result()
    with pytest.raises(BudgetExhaustedError, match=r"price of openai/x is unknown.*BUDGET_TOKENS"):
        book.reserve(1).result()


def _reserve_often(folder: Path) -> None:
    book = ledger(folder)
    for _ in range(200):
        book.settle(book.reserve(7).result(), 3, 0.5).result()


def test_processes_that_share_a_ledger_lose_no_entry(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_reserve_often, args=(tmp_path,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert ledger(tmp_path).spent() == (1_800, 300.0)


async def test_a_reply_from_the_store_costs_no_budget(
    bench: Bench, pair: Pair, screen: Screen
) -> None:
    bench.serve([rule("screener", CLEAR)])
    assert await screen(bench.model(), []) == "clear_match"
    poor = bench.model(budget_tokens=1)
    assert await screen(poor, []) == "clear_match"


async def test_a_spent_budget_stops_the_committee_and_a_higher_one_lets_it_go_on(
    bench: Bench, pair: Pair
) -> None:
    server = bench.serve([rule("screener", CLEAR)])
    sandbox = FakeSandbox(lambda program, installed: PASSED)
    with pytest.raises(BudgetExhaustedError, match="run the same command again"):
        await bench.committee(sandbox, budget_tokens=100).judge(pair)
    assert server.calls == []
    annotation = await bench.committee(sandbox, budget_tokens=100_000).judge(pair)
    assert annotation.status == "labelled"


async def test_a_request_that_brought_no_reply_is_not_spent(
    bench: Bench, pair: Pair, screen: Screen
) -> None:
    bench.serve([rule("screener", {"status": 500}, CLEAR)])
    await screen(bench.model(), [])
    tokens, _ = ledger(bench.folder, model="openai/scripted").spent()
    asked = sum(len(m["content"].split()) for m in bench.server.calls[-1]["messages"])
    assert asked < tokens < asked + 20
