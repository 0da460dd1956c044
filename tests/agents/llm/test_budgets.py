"""Laws of the budget: it holds for requests that are in flight together."""

import asyncio
import sqlite3
from collections.abc import Mapping
from typing import Any

import pytest

from agents.llm.client import LanguageModel
from agents.llm.ledger import JournalLedger, journal_ledger
from agents.llm.reply import TokenLimits
from agents.roles.read import Screener
from infra.errors import (
    BudgetExhaustedError,
    ModelUnavailableError,
    RunStopError,
    UnknownPriceError,
    UnrecordableError,
)
from infra.records import Code, Pair, Query
from infra.settings import StoreSettings
from tests.agents.conftest import CLEAR, Bench, rule
from tests.fakes.llm_server import ScriptedServer
from tests.waiting import eventually

PRICED = "openai/gpt-4o-mini"  # $0.15 a million tokens in, $0.60 out
MOST_USD = 2048 * 0.6e-6  # of a reply
LENGTHS = (20, 2_000, 11_000)  # characters of code


class Counting(ScriptedServer):
    """A scripted server that knows how many requests it answered at once."""

    now = most = 0

    async def _respond(self, path: str, headers: Mapping[str, str], body: bytes) -> bytes:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            return await super()._respond(path, headers, body)
        finally:
            self.now -= 1


def pairs(number: int) -> list[Pair]:
    """Return pairs with codes of different lengths."""
    return [
        Pair(
            query=Query.of(f"query {place}"),
            code=Code.of("x = 1\n" * (LENGTHS[place % len(LENGTHS)] // 6)),
        )
        for place in range(number)
    ]


async def wave(model: LanguageModel, number: int) -> list[Any]:
    """Ask about so many pairs at once; return replies and errors."""
    screened = [Screener(model).screen(pair) for pair in pairs(number)]
    return await asyncio.gather(*screened, return_exceptions=True)


def billed(server: ScriptedServer, usage: Mapping[str, int]) -> float:
    """Return what a provider would ask for the requests that it answered."""
    a_request = usage["prompt_tokens"] * 0.15e-6 + usage["completion_tokens"] * 0.6e-6
    return len(server.calls) * a_request


@pytest.mark.parametrize("budget_usd", [MOST_USD * 1.9, 0.005, 0.02])
async def test_a_first_wave_of_256_of_the_dearest_requests_stays_within_the_budget(
    bench: Bench, budget_usd: float
) -> None:
    usage = {"prompt_tokens": 200, "completion_tokens": 2048, "total_tokens": 2248}
    server = bench.serve([rule("screener", {**CLEAR, "usage": usage, "delay_s": 0.05})])
    ends = await wave(bench.model(model=PRICED, budget_usd=budget_usd), 256)
    refused = [end for end in ends if isinstance(end, BudgetExhaustedError)]
    assert len(refused) == 256 - len(server.calls)
    assert 0 < billed(server, usage) <= budget_usd
    assert "COSQA_LLM__BUDGET_USD" in str(refused[0])


async def test_requests_without_room_beside_those_in_flight_wait_for_what_these_give_back(
    bench: Bench,
) -> None:
    server = bench.serve([rule("screener", {**CLEAR, "delay_s": 0.1})], kind=Counting)
    model = bench.model(model=PRICED, budget_usd=0.008)
    ends = await wave(model, 12)
    assert 0 < server.most <= 5, "more than 5 reservations have no room"
    assert [end.verdict for end in ends] == ["clear_match"] * 12


async def test_longer_prompts_reserve_more(bench: Bench) -> None:
    bench.serve([rule("screener", CLEAR)])
    transport = bench.model(model=PRICED, budget_usd=1.0)._transport
    short, long = (transport.price_of(TokenLimits(size, 2048)) for size in (100, 100_000))
    assert short is not None
    assert long is not None
    assert long - short == pytest.approx(99_900 * 0.15e-6)
    assert short > MOST_USD


async def test_a_reply_without_usage_bars_no_later_budget_of_a_model_whose_price_is_known(
    bench: Bench,
) -> None:
    untold = {"prompt_tokens": -1, "completion_tokens": -1, "total_tokens": -2}
    server = bench.serve([rule("screener", {**CLEAR, "usage": untold})])
    unlimited = bench.model(model=PRICED)
    await wave(unlimited, 1)
    _, usd = bench.spent(unlimited)
    assert MOST_USD < usd < 2 * MOST_USD, "the most that it may have cost"
    await Screener(bench.model(model=PRICED, budget_usd=1.0)).screen(pairs(2)[-1])
    assert len(server.calls) == 2


async def test_an_unknown_price_stops_after_the_first_reply(bench: Bench) -> None:
    bench.serve([rule("screener", {**CLEAR, "delay_s": 0.05})])
    model = bench.model(budget_usd=1.0)
    await wave(model, 8)
    with pytest.raises(UnknownPriceError, match="price of openai/scripted is unknown"):
        await Screener(model).screen(pairs(9)[-1])


async def test_while_no_price_is_known_one_request_goes_alone(bench: Bench) -> None:
    server = bench.serve([rule("screener", {**CLEAR, "delay_s": 0.1})], kind=Counting)
    ends = await wave(bench.model(budget_usd=1.0), 8)
    refused = [end for end in ends if isinstance(end, UnknownPriceError)]
    assert (len(server.calls), len(refused)) == (1, 7)


@pytest.mark.parametrize("model", ["openai/scripted", PRICED])
async def test_a_lost_request_that_may_be_billed_is_charged_or_ends_the_budget_in_dollars(
    bench: Bench, model: str
) -> None:
    server = bench.serve([rule("screener", {**CLEAR, "delay_s": 1.0})])
    without = bench.model(model=model, timeout_s=0.05, max_retries=0)
    [lost] = await wave(without, 1)
    assert isinstance(lost, ModelUnavailableError)
    _, usd = bench.spent(without)
    assert (usd > MOST_USD) == (model == PRICED)
    limited = bench.model(model=model, timeout_s=0.05, max_retries=0, budget_usd=1.0)
    ends = [(await wave(limited, 1))[0] for _ in range(3)]
    if model != PRICED:  # what it cost is not known, so no budget in dollars can be held
        assert isinstance(ends[0], UnknownPriceError)
        assert "BUDGET_TOKENS" in str(ends[0])
        assert len(server.calls) == 1


@pytest.mark.usefixtures("way")
async def test_a_model_that_litellm_lists_without_a_price_is_not_free(bench: Bench) -> None:
    server = bench.serve([rule("screener", CLEAR)])
    model = bench.model(model="openai/container", budget_usd=1.0)
    ends = await wave(model, 3)
    assert len(server.calls) == 1
    assert "BUDGET_TOKENS" in str(ends[-1])


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 2**70, "completion_tokens": 1, "total_tokens": 2**70},
        {"prompt_tokens": -(10**6), "completion_tokens": -(10**6), "total_tokens": -2},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": 12, "completion_tokens": 0, "total_tokens": 12},
        {},
    ],
)
@pytest.mark.usefixtures("way")
async def test_absurd_usage_is_charged_as_reserved(bench: Bench, usage: dict[str, int]) -> None:
    bench.serve([rule("screener", {**CLEAR, "usage": usage})])
    model = bench.model(model=PRICED, budget_usd=1.0)
    await Screener(model).screen(bench.pair)
    tokens, usd = bench.spent(model)
    assert MOST_USD < usd < 2 * MOST_USD
    assert tokens >= 2048


async def test_a_reply_that_cannot_be_kept_ends_the_run_and_stays_reserved(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    bench.serve([rule("screener", CLEAR)])
    model = bench.model(model=PRICED, budget_usd=1.0)
    with monkeypatch.context() as patch:
        patch.setattr("agents.llm.ledger.keep_all", full)
        with pytest.raises(UnrecordableError, match=r"disk is full.*make room"):
            await bench.screen(model)
    _, usd = bench.spent(model)
    assert MOST_USD < usd < 2 * MOST_USD


async def test_a_reply_and_what_it_cost_are_kept_both_or_neither(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise InterruptedError

    server = bench.serve([rule("screener", CLEAR)])
    model = bench.model(model=PRICED)
    with monkeypatch.context() as patch:
        patch.setattr(JournalLedger, "_commit", killed)
        with pytest.raises(UnrecordableError):
            await bench.screen(model)
    assert await bench.screen(model) == "clear_match"
    assert server.count("screener") == 2


async def test_a_request_that_is_cancelled_while_it_is_reserved_costs_nothing(
    bench: Bench,
) -> None:
    """Its reservation is on the way to the journal, and is given back there."""
    server = bench.serve([rule("screener", CLEAR)])
    model = bench.model(model=PRICED, budget_usd=1.0)
    ledger = model._ledger
    assert isinstance(ledger, JournalLedger)
    waiting = asyncio.create_task(ledger.reserve(18, 0.5))
    await asyncio.sleep(0)  # it has handed its reservation over
    assert len(ledger._in_flight) == 1
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await eventually(lambda: ledger._journal.file.exists() and ledger.spent() == (0, 0.0))
    await eventually(lambda: not ledger._in_flight)
    assert ledger.spent() == (0, 0.0)
    assert server.calls == []


async def test_a_reply_that_cannot_be_read_is_kept_before_it_is_parsed(bench: Bench) -> None:
    server = bench.serve([rule("screener", {"text": "\ud83d"}, {"text": "[" * 10_000}, CLEAR)])
    for _ in range(2):
        with pytest.raises(Exception, match="no readable reply"):
            await bench.screen()
    assert server.count("screener") == 2
    assert [call.cached for call in bench.calls] == [False, False, True, True]


async def test_several_judges_together_stay_within_the_budget(bench: Bench) -> None:
    usage = {"prompt_tokens": 200, "completion_tokens": 2048, "total_tokens": 2248}
    server = bench.serve([rule("screener", {**CLEAR, "usage": usage, "delay_s": 0.02})])
    most = 0.02
    judges = [bench.model(model=PRICED, budget_usd=most) for _ in range(4)]
    waves = await asyncio.gather(*(wave(judge, 16) for judge in judges))
    refused = [end for ends in waves for end in ends if isinstance(end, BudgetExhaustedError)]
    assert 0 < billed(server, usage) <= most
    assert 0 < len(refused) < 64
    assert "are spent or reserved" in str(refused[0])


async def test_what_a_killed_process_had_reserved_counts_as_spent(bench: Bench) -> None:
    bench.serve([rule("screener", CLEAR)])
    settings: dict[str, Any] = {"model": PRICED, "budget_usd": MOST_USD * 1.9}
    model = bench.model(**settings)
    killed = journal_ledger(StoreSettings(folder=bench.folder), bench.settings(**settings))
    await killed.reserve(2_048, MOST_USD)
    async with asyncio.timeout(5):
        with pytest.raises(BudgetExhaustedError):
            await Screener(model).screen(bench.pair)


@pytest.mark.parametrize("settings", [{"model": PRICED}, {}])
async def test_a_spent_budget_ends_a_run_though_another_one_asks_without_a_pause(
    bench: Bench, settings: dict[str, Any]
) -> None:
    """Also one of which the other has found that it tells no price."""
    server = bench.serve([rule("screener", CLEAR)])
    other = journal_ledger(StoreSettings(folder=bench.folder), bench.settings(**settings))
    await other.commit(await other.reserve(1), 1, 5.0 if settings else None)
    await other.reserve(1)
    async with asyncio.timeout(60):
        with pytest.raises(RunStopError):
            await Screener(bench.model(**settings, budget_usd=2.0)).screen(bench.pair)
    assert server.calls == []


async def test_a_request_that_is_cancelled_before_it_is_sent_costs_nothing(bench: Bench) -> None:
    server = bench.serve([rule("screener", CLEAR)])
    model = bench.model(model=PRICED, budget_usd=1.0, requests_per_minute=1)
    await Screener(model).screen(pairs(1)[0])
    spent = bench.spent(model)
    waiting = asyncio.create_task(wave(model, 4))
    await eventually(lambda: bench.spent(model) > spent)
    ledger = model._ledger
    assert isinstance(ledger, JournalLedger)
    await eventually(lambda: len(ledger._in_flight) == 3)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert len(server.calls) == 1
    await eventually(lambda: bench.spent(model) == pytest.approx(spent))
