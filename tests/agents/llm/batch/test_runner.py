"""Laws of batches: the same labels at half the price, nothing paid twice, whatever goes wrong.

Covers `agents.llm.batch.*` and `agents.committee.remembering`.
"""

import asyncio
import errno
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.errors import (
    BudgetExhaustedError,
    DiskFullError,
    LanguageModelError,
    ModelRefusedError,
    StoreLockedError,
)
from infra.records import Annotation
from infra.settings import Settings
from tests.agents.judging import made_up_sandbox, script
from tests.agents.llm.batch.batching import answer, batch_settings, judged, one_pass
from tests.fakes.journals import limiter_of, requests_of
from tests.fakes.llm_server import ScriptedServer

PAIRS = 12


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(list(script(PAIRS, delay_s=0.0))) as server:
        yield server


def labels(annotations: list[Annotation]) -> list[tuple[object, ...]]:
    return [(item.query_id, item.label, item.path, item.status) for item in annotations]


def twice(server: ScriptedServer) -> list[str]:
    counts = Counter(json.dumps(call["messages"]) for call in server.calls)
    return [question for question, times in counts.items() if times > 1]


async def undisturbed(server: ScriptedServer, folder: Path) -> list[tuple[object, ...]]:
    """Return the labels that come without batches; what the server was asked is forgotten."""
    settings = batch_settings(server.base_url, folder / "undisturbed")
    alone = settings.annotation.model_copy(update={"batch": False})
    made = await judged(settings.model_copy(update={"annotation": alone}), PAIRS)
    server.calls.clear()
    return labels(made)


async def test_batches_give_the_labels_of_requests_one_by_one_and_each_is_asked_once(
    server: ScriptedServer, tmp_path: Path
) -> None:
    expected = await undisturbed(server, tmp_path)
    settings = batch_settings(server.base_url, tmp_path, model="openai/gpt-4o-mini")
    sandbox = made_up_sandbox()
    made = await judged(settings, PAIRS, sandbox)
    assert labels(made) == expected
    assert twice(server) == []
    assert len(server.batches.batches) == 3, "a batch for each of screener, writer and arbiter"
    assert sandbox.made == PAIRS // 3, "what a program gave is kept from pass to pass"  # type: ignore[attr-defined]
    alone = batch_settings(server.base_url, tmp_path, model="openai/gpt-4o-mini").annotation
    again = settings.model_copy(update={"annotation": alone.model_copy(update={"batch": False})})
    before = len(server.calls)
    assert labels(await judged(again, PAIRS)) == expected
    assert len(server.calls) == before, "both ways share the replies"


async def test_what_batches_refuse_is_paid_for_once_and_counts_with_its_price(
    server: ScriptedServer, tmp_path: Path
) -> None:
    settings = batch_settings(server.base_url, tmp_path, model="openai/gpt-4o-mini")
    server.batches.faults = [{"lines": dict.fromkeys(range(4), 400)}, {}]  # of the screeners
    made = await judged(settings, PAIRS)
    calls = [call for item in made for call in item.calls]
    assert not any(call.cached for call in calls)
    _, usd = limiter_of(settings.store, settings.llm).spent()
    assert usd == pytest.approx(sum(call.cost_usd or 0 for call in calls))


@pytest.mark.parametrize("module", ["files.atomic_write", "api.BatchApi.download"])
async def test_a_full_disk_is_one_error_and_the_same_command_goes_on_later(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    settings = batch_settings(server.base_url, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(f"agents.llm.batch.{module}", full)
        with pytest.raises(DiskFullError, match=r"disk of .* is full.*--store"):
            await judged(settings, PAIRS)
    made = await judged(settings, PAIRS)
    assert {item.status for item in made} == {"labelled"}
    assert twice(server) == []


async def test_files_of_a_run_that_was_killed_are_removed_by_the_next_one(
    server: ScriptedServer, tmp_path: Path
) -> None:
    settings = batch_settings(server.base_url, tmp_path)
    for name in ("batch-ab.jsonl", "batch-ab-0.jsonl"):
        (tmp_path / name).write_bytes(b"half")
    await answer(settings)
    assert not any((tmp_path / name).exists() for name in ("batch-ab.jsonl", "batch-ab-0.jsonl"))


async def test_a_batch_costs_half_and_the_budget_is_charged_what_it_took(
    server: ScriptedServer, tmp_path: Path
) -> None:
    costs: list[dict[str, float]] = []
    for batch in (True, False):
        settings = batch_settings(
            server.base_url, tmp_path / str(batch), model="openai/gpt-4o-mini"
        )
        way = settings.annotation.model_copy(update={"batch": batch})
        made = await judged(settings.model_copy(update={"annotation": way}), PAIRS)
        calls = [call for item in made for call in item.calls]
        assert not any(call.cached for call in calls)
        tokens, usd = limiter_of(settings.store, settings.llm).spent()
        assert usd == pytest.approx(sum(call.cost_usd or 0 for call in calls))
        counts = [(call.prompt_tokens or 0) + (call.completion_tokens or 0) for call in calls]
        assert tokens == sum(counts)
        costs.append({call.prompt_digest: call.cost_usd or 0 for call in calls})
    shares = Counter(round(usd / costs[1][key], 3) for key, usd in costs[0].items())
    assert shares == {0.5: len(costs[1]) - 3, 1.0: 3}, "one of each step goes by itself"


FAULTS: dict[str, list[dict[str, Any]]] = {
    "expired with a part answered": [{"status": "expired", "answered": 4}, {}],
    "failed, refused and missing lines": [
        {"lines": {0: 500, 3: 429, 4: 400}, "forget": 2},
        {"lines": {0: 503}},
        {},
    ],
    "lines that always fail": [{"lines": dict.fromkeys(range(2), 500)}],
    "lines that are always missing": [{"forget": 3}],
    "garbage": [
        {
            "garbage": b'{"custom_id": "ab\n\xff\xfe\n[1]\n7\n\n{}\n{"custom_id": 1}\n',
            "more": b'{"custom_id": "00", "response": {"status_code": 200, "body": {}}}\n',
            "repeat": 1,
        }
    ],
    "the account's queue is full": [
        {"status": "failed", "code": "token_limit_exceeded", "message": "Enqueued"},
        {},
    ],
}


@pytest.mark.parametrize("faults", FAULTS.values(), ids=list(FAULTS))
async def test_whatever_a_batch_lacks_comes_later(
    server: ScriptedServer, tmp_path: Path, faults: list[dict[str, Any]]
) -> None:
    expected = await undisturbed(server, tmp_path)
    server.batches.faults = faults
    assert labels(await judged(batch_settings(server.base_url, tmp_path), PAIRS)) == expected


async def test_an_unreadable_reply_is_asked_for_again_in_the_next_batch(
    server: ScriptedServer, tmp_path: Path
) -> None:
    rules = list(script(PAIRS, delay_s=0.0))
    for rule in rules:
        steps: Any = rule["steps"]
        rule["steps"] = [{"text": "I would rather not"}, *steps]
    server.follow(rules)
    made = await judged(batch_settings(server.base_url, tmp_path), PAIRS)
    assert {item.status for item in made} == {"labelled"}
    assert {call.attempt for item in made for call in item.calls} == {1, 2}
    assert len(server.batches.batches) == 6


LOST = {"status": 500, "after": True}
FAILURES = [
    ("POST /files", {"status": 429}),
    ("POST /batches", LOST),
    *(
        pytest.param(kind, failure, marks=pytest.mark.exhaustive)
        for kind in ("POST /files", "POST /batches", "GET /batches", "GET /files")
        for failure in ({"status": 429}, {"status": 500}, LOST)
    ),
]


@pytest.mark.parametrize(("kind", "failure"), FAILURES)
async def test_a_passing_failure_of_the_batch_api_doubles_nothing(
    server: ScriptedServer, tmp_path: Path, kind: str, failure: dict[str, Any]
) -> None:
    server.batches.failures[kind] = [dict(failure)]
    made = await judged(batch_settings(server.base_url, tmp_path), PAIRS)
    assert {item.status for item in made} == {"labelled"}
    assert twice(server) == []
    assert set(server.batches.requests.values()) == {1}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"status": "failed", "code": "invalid", "message": "no model"}, "no model.*--batch"),
        ({"status": "expired", "answered": 0}, "none of its.*again later"),
        ({"status": "cancelled", "answered": 5}, "cancelled at the provider"),
        ({"lines": dict.fromkeys(range(PAIRS), 400)}, "all of its 11 requests were refused"),
        ({"answered": 0}, "without a result of 11 of its 11 requests.*again"),
    ],
)
async def test_a_batch_that_cannot_be_answered_stops_the_run_and_loses_nothing(
    server: ScriptedServer, tmp_path: Path, fault: dict[str, Any], words: str
) -> None:
    settings = batch_settings(server.base_url, tmp_path)
    server.batches.faults = [fault, {}]
    with pytest.raises(LanguageModelError, match=words):
        await judged(settings, PAIRS)
    made = await judged(settings, PAIRS)
    assert {item.status for item in made} == {"labelled"}
    assert twice(server) == []


async def test_a_server_without_a_batch_api_is_named_with_the_way_out(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.batches.has_batches = False
    settings = batch_settings(server.base_url, tmp_path)
    with pytest.raises(ModelRefusedError, match=r"has no batch API.*leave out --batch"):
        await judged(settings, PAIRS)
    assert requests_of(settings.store, settings.llm).sent() == []


async def test_batches_have_at_most_so_many_requests(
    server: ScriptedServer, tmp_path: Path
) -> None:
    await judged(batch_settings(server.base_url, tmp_path, requests=4), PAIRS)
    sizes = [batch["request_counts"]["total"] for batch in server.batches.batches.values()]
    assert sizes[:3] == [4, 4, 3], "one request goes by itself, to find the format"
    assert twice(server) == []


async def test_only_what_the_budget_has_room_for_is_in_flight(
    server: ScriptedServer, tmp_path: Path
) -> None:
    limited = batch_settings(server.base_url, tmp_path, budget_tokens=20_000)
    made = await judged(limited, PAIRS)
    assert {item.status for item in made} == {"labelled"}
    assert len(server.batches.batches) > 3
    assert twice(server) == []


async def test_a_budget_without_room_for_one_request_stops_the_run(
    server: ScriptedServer, tmp_path: Path
) -> None:
    with pytest.raises(BudgetExhaustedError, match="BUDGET_TOKENS"):
        await judged(batch_settings(server.base_url, tmp_path, budget_tokens=3_000), PAIRS)


async def test_no_batch_of_a_model_without_a_known_price_is_sent_on_a_budget_of_dollars(
    server: ScriptedServer, tmp_path: Path
) -> None:
    for _ in range(2):
        with pytest.raises(BudgetExhaustedError, match=r"price .* is unknown.*BUDGET_TOKENS"):
            await judged(batch_settings(server.base_url, tmp_path, budget_usd=1.0), PAIRS)
    assert (len(server.calls), server.batches.batches) == (1, {}), "one request, to learn the price"


async def test_what_a_killed_run_collected_but_did_not_submit_is_not_paid_for(
    server: ScriptedServer, tmp_path: Path
) -> None:
    settings = batch_settings(server.base_url, tmp_path)
    await one_pass(settings, PAIRS, made_up_sandbox())
    requests = requests_of(settings.store, settings.llm)
    assert requests.roles_waiting() == {"screener": PAIRS}
    requests.forget_waiting()
    assert not await answer(settings)
    assert server.calls == []


async def test_a_batch_that_the_provider_has_lost_is_submitted_again(
    server: ScriptedServer, tmp_path: Path
) -> None:
    settings: Settings = batch_settings(server.base_url, tmp_path)
    server.batches.polls = 10**9
    await one_pass(settings, PAIRS, made_up_sandbox())
    server.batches.failures["GET /batches"] = [{"status": 401}]
    with pytest.raises(ModelRefusedError):
        await answer(settings)
    server.batches.batches.clear()
    server.batches.polls = 1
    made = await judged(settings, PAIRS)
    assert {item.status for item in made} == {"labelled"}


async def test_batches_whose_results_are_always_lost_are_not_submitted_for_ever(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.batches.failures["GET /files"] = [{"status": 404}] * 1_000
    made = await judged(batch_settings(server.base_url, tmp_path), PAIRS)
    assert {item.status for item in made} == {"labelled"}
    assert max(server.batches.requests.values()) == 3, "then each goes by itself"


async def test_two_runs_do_not_submit_the_same_requests(
    server: ScriptedServer, tmp_path: Path
) -> None:
    settings = batch_settings(server.base_url, tmp_path)
    server.batches.polls = 5
    await one_pass(settings, PAIRS, made_up_sandbox())
    results = await asyncio.gather(answer(settings), answer(settings), return_exceptions=True)
    assert [type(result) for result in results] == [bool, StoreLockedError]
    assert twice(server) == []
