"""Laws of batches that end oddly: nothing that may be billed is given back, nothing is lost."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.llm.batch.api import BatchApi
from agents.llm.batch.files import outcomes_of
from agents.llm.retry import RequestError
from infra.errors import LanguageModelError, ModelRefusedError, ModelUnavailableError
from infra.settings import Settings
from tests.agents.judging import made_up_sandbox, script
from tests.agents.llm.batch.batching import answer, batch_settings, judged, one_pass
from tests.agents.llm.batch.test_runner import PAIRS, twice
from tests.fakes.journals import limiter_of, requests_of
from tests.fakes.llm_server import KEY, ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(list(script(PAIRS, delay_s=0.0))) as server:
        yield server


def _lost_while_submitted(settings: Settings) -> None:
    """Write down a batch as a run does that is killed before it knows whether it was submitted."""
    requests = requests_of(settings.store, settings.llm)
    keys = [request.key for request in requests.waiting()][:4]
    requests.begin("lost", keys, 9_000, 0.5).result()


NO_LISTS: list[dict[str, Any]] = [{"status": 404}, {"status": 405}, {"status": 501}]


@pytest.mark.parametrize("failure", NO_LISTS, ids=str)
async def test_a_batch_of_which_nothing_is_known_may_be_billed(
    server: ScriptedServer, tmp_path: Path, failure: dict[str, Any]
) -> None:
    settings = batch_settings(server.base_url, tmp_path, max_retries=0)
    await one_pass(settings, PAIRS, made_up_sandbox())
    _lost_while_submitted(settings)
    server.batches.failures["GET /batches"] = [failure]
    assert await answer(settings)
    assert limiter_of(settings.store, settings.llm).spent()[1] == pytest.approx(0.5)


async def test_a_list_without_an_end_tells_nothing(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = batch_settings(server.base_url, tmp_path)
    await one_pass(settings, PAIRS, made_up_sandbox())
    _lost_while_submitted(settings)
    others = {f"batch_{n}": {"id": f"batch_{n}", "status": "completed"} for n in range(9)}
    server.batches.batches |= others
    monkeypatch.setattr("agents.llm.batch.api._MAX_PAGES", 3)
    assert await answer(settings)
    assert limiter_of(settings.store, settings.llm).spent()[1] == pytest.approx(0.5)


async def test_others_batches_of_any_kind_do_not_hide_ours(
    server: ScriptedServer, tmp_path: Path
) -> None:
    settings = batch_settings(server.base_url, tmp_path)
    await one_pass(settings, PAIRS, made_up_sandbox())
    _lost_while_submitted(settings)
    odd: list[dict[str, Any]] = [
        {"status": None},
        {"metadata": [1]},
        {"metadata": {"cosqa": "\ud800"}},
        {"status": "x"},
    ]
    server.batches.batches |= {f"b{n}": {"id": f"b{n}", **row} for n, row in enumerate(odd)}
    assert await answer(settings)
    _, usd = limiter_of(settings.store, settings.llm).spent()
    assert usd == 0, "it was not submitted, so nothing is reserved for it"


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_replies_in_the_file_that_is_there_are_kept_though_another_is_gone(
    server: ScriptedServer, tmp_path: Path, status: int
) -> None:
    known: dict[str, Any] = {"model": "openai/gpt-4o-mini", "max_retries": 0}
    settings = batch_settings(server.base_url, tmp_path, **known)
    server.batches.faults = [{"lines": {0: 500}}, {}]
    server.batches.failures["GET /files"] = [{}, {"status": status}]
    made = await judged(settings, PAIRS)
    assert {item.status for item in made} == {"labelled"}
    assert twice(server) == []
    _, usd = limiter_of(settings.store, settings.llm).spent()
    told = sum(call.cost_usd or 0 for item in made for call in item.calls)
    assert usd > 1.5 * told, "what the file that is gone tells of may be billed"


@pytest.mark.parametrize("kind", ["GET /batches", "GET /files"])
async def test_replies_that_came_otherwise_are_not_paid_again_where_the_batch_is_gone(
    server: ScriptedServer, tmp_path: Path, kind: str
) -> None:
    settings = batch_settings(server.base_url, tmp_path)
    await one_pass(settings, PAIRS, made_up_sandbox())
    server.batches.failures["GET /batches"] = [{"status": 401}]
    with pytest.raises(ModelRefusedError):
        await answer(settings)
    alone = settings.annotation.model_copy(update={"batch": False})
    await judged(settings.model_copy(update={"annotation": alone}), PAIRS)
    server.batches.failures[kind] = [{"status": 404}]
    await answer(settings)
    assert len(server.batches.batches) == 1
    assert requests_of(settings.store, settings.llm).roles_waiting() == {}


FAILED: dict[str, Any] = {"status": "failed", "code": "server_error", "message": "it broke down"}


async def test_replies_of_a_batch_that_failed_are_kept_and_charged(
    server: ScriptedServer, tmp_path: Path
) -> None:
    settings = batch_settings(server.base_url, tmp_path, model="openai/gpt-4o-mini")
    server.batches.faults = [{**FAILED, "answered": 4}, {}]
    made = await judged(settings, PAIRS)
    assert {item.status for item in made} == {"labelled"}
    assert twice(server) == []
    _, usd = limiter_of(settings.store, settings.llm).spent()
    assert usd == pytest.approx(sum(call.cost_usd or 0 for item in made for call in item.calls))


async def test_what_a_line_that_cannot_be_read_may_have_answered_stays_charged(
    server: ScriptedServer, tmp_path: Path
) -> None:
    settings = batch_settings(server.base_url, tmp_path, model="openai/gpt-4o-mini")
    server.batches.faults = [{**FAILED, "answered": 4, "garbage": b"[1\n"}, {}]
    made = await judged(settings, PAIRS)
    assert {item.status for item in made} == {"labelled"}
    assert twice(server) == []
    _, usd = limiter_of(settings.store, settings.llm).spent()
    assert usd > 1.2 * sum(call.cost_usd or 0 for item in made for call in item.calls)


async def test_a_batch_that_failed_without_a_reply_stops_the_run_though_it_has_files(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.batches.faults = [{**FAILED, "answered": PAIRS, "lines": dict.fromkeys(range(11), 500)}]
    with pytest.raises(ModelRefusedError, match=r"it broke down.*remove the cause"):
        await judged(batch_settings(server.base_url, tmp_path), PAIRS)
    assert len(server.batches.batches) == 1


async def test_a_run_with_another_address_takes_no_request_out_of_a_batch_that_was_sent(
    server: ScriptedServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = batch_settings(server.base_url, tmp_path, model="openai/gpt-4o-mini")
    await one_pass(settings, PAIRS, made_up_sandbox())
    server.batches.failures["GET /batches"] = [{"status": 401}]
    with pytest.raises(ModelRefusedError):
        await answer(settings)
    with ScriptedServer(list(script(PAIRS, delay_s=0.0))) as elsewhere:
        other = batch_settings(elsewhere.base_url, tmp_path, model="openai/gpt-4o-mini")
        left = await one_pass(other, PAIRS, made_up_sandbox())
        await answer(other)
        assert Counter(item.status for item in left)["pending"] >= PAIRS - 1
        assert caplog.text.count("sent to another address") == 1
        sent = requests_of(settings.store, settings.llm).sent()
        assert [batch.requests for batch in sent] == [PAIRS - 1]
        asked = sum("screener" in json.dumps(call) for call in elsewhere.calls)
        assert asked == 0
    made = await judged(settings, PAIRS)
    assert {item.status for item in made} == {"labelled"}
    assert twice(server) == []


async def test_a_batch_without_an_end_stops_the_run_with_its_name(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = batch_settings(server.base_url, tmp_path)
    server.batches.faults = [{"status": "paused_by_support"}]
    monkeypatch.setattr("agents.llm.batch.runner._LONGEST_S", 0.2)
    with pytest.raises(ModelUnavailableError, match=r"batch batch_\d.* cancel it at the provider"):
        await judged(settings, PAIRS)


ODD_LINES = {
    "half of a pair": b'{"custom_id": "\\ud800", "response": {"status_code": 200, "body": {}}}',
    "half of a pair in a name": b'{"custom_id": "0", "response": {"body": {"\\udfff": 1}}}',
    "half of a pair in an error": b'{"custom_id": "0", "error": {"message": "\\ud83d"}}',
    "no object": b"[1, 2]",
    "a deep one": b'{"custom_id": ' + b"[" * 50_000,
    "a long number": b'{"custom_id": ' + b"9" * 6_000 + b"}",
    "no UTF-8": b'{"custom_id": "\xff\xfe"}',
    "an odd status": b'{"custom_id": "0", "response": {"status_code": 1e999, "body": null}}',
}


@pytest.mark.parametrize("line", ODD_LINES)
async def test_a_line_that_cannot_be_read_does_not_lose_the_batch(
    server: ScriptedServer, tmp_path: Path, line: str
) -> None:
    server.batches.faults = [{"garbage": ODD_LINES[line] + b"\n"}]
    made = await judged(batch_settings(server.base_url, tmp_path), PAIRS)
    assert {item.status for item in made} == {"labelled"}
    assert twice(server) == []


@pytest.mark.parametrize("line", ODD_LINES)
def test_an_outcome_of_our_request_is_read_whatever_is_in_it(tmp_path: Path, line: str) -> None:
    (tmp_path / "file").write_bytes(ODD_LINES[line])
    for outcome in outcomes_of(tmp_path / "file", ["0", "\ufffd"], None):
        assert outcome is None or outcome.model_dump_json()


ECHO = f"401: {KEY} is no key"
ECHOES: dict[str, dict[str, Any]] = {
    "a batch that failed": {"status": "failed", "code": ECHO, "message": ECHO},
    "lines of errors": {"error": {"code": "invalid", "message": ECHO}},
    "lines of refusals": {"lines": dict.fromkeys(range(PAIRS), 400), "message": ECHO},
}


@pytest.mark.parametrize("fault", ECHOES)
async def test_a_key_that_a_provider_echoes_is_in_no_log_and_no_error(
    server: ScriptedServer, tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    server.batches.faults = [ECHOES[fault], {}]
    settings = batch_settings(server.base_url, tmp_path)
    await one_pass(settings, PAIRS, made_up_sandbox())
    error = None
    try:
        await answer(settings)
    except LanguageModelError as refused:
        error = refused
    told = f"{caplog.text} {error}"
    assert "401: *** is no key" in told
    assert KEY not in told


@pytest.mark.parametrize("content", [b'{"id": "scripted-key"}', b"x" * 90 + b"scripted-key"])
async def test_a_key_in_an_answer_that_cannot_be_read_is_told_neither_whole_nor_in_part(
    monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    class Answered:
        status = 200
        content: Any

        async def iter_any(self) -> AsyncIterator[bytes]:
            yield content

    @asynccontextmanager
    async def answered(*_: object, **__: object) -> AsyncIterator[Answered]:
        given = Answered()
        given.content = given
        yield given

    api = BatchApi("http://localhost", KEY, 1.0)
    monkeypatch.setattr(api, "_answer", answered)
    with pytest.raises(RequestError) as caught:
        await api.retrieve("batch")
    assert KEY[:5] not in caught.value.message


async def test_a_bill_that_cannot_be_true_counts_as_reserved(
    server: ScriptedServer, tmp_path: Path
) -> None:
    usage = {"prompt_tokens": 10**8, "completion_tokens": 10**8, "total_tokens": 2 * 10**8}
    answers = script(PAIRS, delay_s=0.0)
    counted: list[dict[str, Any]] = [dict(rule) for rule in answers]
    for rule in counted:
        rule["steps"] = [{**step, "usage": usage} for step in rule["steps"]]
    server.follow(counted)
    settings = batch_settings(server.base_url, tmp_path, model="openai/gpt-4o-mini")
    await one_pass(settings, PAIRS, made_up_sandbox())
    await answer(settings)
    tokens, usd = limiter_of(settings.store, settings.llm).spent()
    assert tokens < 100_000
    assert 0 < usd < 0.05


async def test_a_prompt_that_is_refused_before_the_first_batch_goes_by_itself(
    server: ScriptedServer, tmp_path: Path
) -> None:
    settings = batch_settings(server.base_url, tmp_path)
    await one_pass(settings, PAIRS, made_up_sandbox())
    first = next(requests_of(settings.store, settings.llm).waiting())
    text = json.loads(first.question)["messages"][1]["content"]
    query = text.split("<<<query ")[1].split("\n")[1]
    probe = {"role": "probe", "steps": [{"reply": {"verdict": "yes"}}]}
    refused = {"role": "screener", "query": query, "steps": [{"status": 403}]}
    server.follow([probe, refused, *script(PAIRS, delay_s=0.0)])
    made = await judged(settings, PAIRS)
    ends = Counter(item.status for item in made)
    assert ends["undecided"] >= 1
    assert ends["labelled"] + ends["undecided"] == PAIRS
