"""Laws of the client.

Covers ``litellm_transport.py`` and ``reply.py``.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agents.llm.litellm_transport import Transport
from agents.roles.read import Screener
from infra.errors import (
    LanguageModelError,
    ModelRefusedError,
    ModelUnavailableError,
    PromptDeclinedError,
    ReplyCutError,
    UnreadableReplyError,
    UnrecordableError,
)
from infra.records import Code, Pair, Query
from tests.agents.conftest import CLEAR, Bench, rule
from tests.fakes.journals import journal_text
from tests.fakes.llm_server import KEY, ScriptedServer

pytestmark = pytest.mark.usefixtures("way")

GARBAGE = {"text": "I think it is fine."}
TRUNCATED = {"text": json.dumps(CLEAR["reply"])[:-12]}
NOISE = {"text": "x" * 200_000}
EMPTY = {"text": ""}


async def test_a_call_is_recorded_with_what_it_took(bench: Bench) -> None:
    bench.serve([rule("screener", CLEAR)])
    assert await bench.screen() == "clear_match"
    (call,) = bench.calls
    assert (call.role, call.attempt, call.status, call.cached) == ("screener", 1, "ok", False)
    assert call.model == "openai/scripted"
    assert json.loads(call.reply) == CLEAR["reply"]
    assert call.prompt_tokens
    assert call.completion_tokens
    assert call.cost_usd is None  # unknown is not 0
    assert call.seconds > 0


async def test_no_reply_is_paid_twice(bench: Bench) -> None:
    server = bench.serve([rule("screener", GARBAGE, CLEAR)])
    for _ in range(2):
        await bench.screen()
    first, second = bench.calls[:2], bench.calls[2:]
    assert server.count("screener") == 2
    assert [call.cached for call in second] == [True, True]
    assert [call.reply for call in second] == [call.reply for call in first]


async def test_with_little_room_kept_replies_are_found_and_no_other_is_paid(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.llm.ledger._LOOK_S", 0.0)
    server = bench.serve([rule("screener", CLEAR)])
    await bench.screen()
    monkeypatch.setattr("agents.llm.ledger.free_bytes", lambda _: 2**20)
    assert await bench.screen() == "clear_match"
    with pytest.raises(UnrecordableError, match="nothing more is requested"):
        await bench.screen(labelling_round=2)
    assert server.count("screener") == 1


async def test_what_is_asked_at_the_same_time_is_paid_once(bench: Bench) -> None:
    server = bench.serve([rule("screener", {**CLEAR, "delay_s": 0.2})])
    models = [bench.model(), bench.model()]
    asked = [bench.screen(model) for model in models for _ in range(3)]
    assert set(await asyncio.gather(*asked)) == {"clear_match"}
    assert server.count("screener") == 1
    assert sorted(call.cached for call in bench.calls) == [False, *[True] * 5]


async def test_who_waits_for_a_reply_that_does_not_come_asks_by_itself(bench: Bench) -> None:
    server = bench.serve([rule("screener", {"status": 503, "delay_s": 0.1}, CLEAR)])
    asked = [bench.screen(max_retries=0) for _ in range(2)]
    ends = await asyncio.gather(*asked, return_exceptions=True)
    assert sorted(str(type(end).__name__) for end in ends) == ["ModelUnavailableError", "str"]
    assert server.count("screener") == 2


async def test_another_model_or_sampling_is_asked_anew(bench: Bench) -> None:
    server = bench.serve([rule("screener", CLEAR)])
    for settings in ({}, {"temperature": 0.5}, {"model": "openai/other"}, {"max_tokens": 99}):
        await bench.screen(**settings)
    assert server.count("screener") == 4


async def test_each_labelling_round_is_asked_anew_and_once(bench: Bench) -> None:
    bench.serve([rule("screener", CLEAR)])
    for labelling_round in (1, 2, 3, 2, 1):
        await bench.screen(labelling_round=labelling_round)
    assert len(bench.server.calls) == 3


async def test_the_same_model_elsewhere_is_the_same_model(bench: Bench) -> None:
    bench.serve([rule("screener", CLEAR)])
    await bench.screen()
    elsewhere = bench.serve([rule("screener", CLEAR)])
    await bench.screen()
    assert elsewhere.calls == []


@pytest.mark.parametrize("unreadable", [GARBAGE, TRUNCATED, NOISE, EMPTY])
async def test_an_unreadable_reply_is_asked_for_again_with_the_reason(
    bench: Bench, unreadable: dict[str, Any]
) -> None:
    server = bench.serve([rule("screener", unreadable, CLEAR)])
    assert await bench.screen() == "clear_match"
    assert [call.status for call in bench.calls] == ["unreadable", "ok"]
    *_, echo, request = server.calls[1]["messages"]
    assert echo["role"] == "assistant"
    assert len(echo["content"]) <= 2000
    assert "not one JSON object and nothing else" in request["content"]


async def test_two_unreadable_replies_are_an_error_with_both_as_evidence(bench: Bench) -> None:
    wrong = {"reply": {"reason": "so so", "verdict": "maybe"}}
    bench.serve([rule("screener", GARBAGE, wrong)])
    with pytest.raises(UnreadableReplyError, match="verdict"):
        await bench.screen()
    assert [call.status for call in bench.calls] == ["unreadable", "unreadable"]
    assert "maybe" in bench.calls[1].reply


@pytest.mark.parametrize(
    ("formats", "asked"),
    [
        (["json_schema", "json_object"], ["json_schema", "json_schema"]),
        (["json_object"], ["json_schema", "json_object", "json_object"]),
        ([], ["json_schema", "json_object", "text", "text"]),
    ],
)
async def test_the_ladder_is_climbed_down_once_and_remembered(
    bench: Bench, formats: list[str], asked: list[str]
) -> None:
    server = bench.serve([rule("screener", GARBAGE, CLEAR)], formats=formats)
    assert await bench.screen() == "clear_match"
    assert [call["format"] for call in server.calls] == asked
    assert len(bench.calls) == 2


async def test_refusals_met_at_once_step_down_once(bench: Bench) -> None:
    bench.serve([rule("screener", CLEAR)], formats=["json_object"])
    model = bench.model()
    asked = [bench.screen(model) for _ in range(6)]
    assert set(await asyncio.gather(*asked)) == {"clear_match"}
    assert "text" not in {call["format"] for call in bench.server.calls}


class Refusing(ScriptedServer):
    """A server that refuses some parts of requests, in its own words."""

    refused: tuple[tuple[Callable[[dict[str, Any]], bool], int, str], ...] = ()
    refusals = 0

    def answer(self, request: dict[str, Any], key: str) -> Mapping[str, Any]:
        for refuses, status, message in self.refused:
            if refuses(request):
                self.refusals += 1
                return {"status": status, "message": message}
        if has_system_text(request):
            return super().answer(request, key)
        [user, *others] = request["messages"]
        return super().answer({**request, "messages": [user, user, *others]}, key)


def has(*names: str) -> Callable[[dict[str, Any]], bool]:
    return lambda request: any(name in request for name in names)


def has_schema(request: dict[str, Any]) -> bool:
    return bool(request.get("response_format", {}).get("type") == "json_schema")


def has_system_text(request: dict[str, Any]) -> bool:
    return bool(request["messages"][0]["role"] == "system")


LIMIT = (has("max_tokens"), 400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'")
GEMINI = (has_schema, 400, "Unknown name \"additionalProperties\" at 'config.response_schema'")
HEAT = (has("temperature"), 422, "temperature: Extra inputs are not permitted")
SYSTEM = (has_system_text, 500, "jinja template: System role not supported")


@pytest.mark.parametrize(
    ("refused", "tries"),
    [([LIMIT], 1), ([GEMINI], 1), ([HEAT], 1), ([SYSTEM], 1), ([LIMIT, GEMINI, HEAT, SYSTEM], 4)],
)
async def test_what_a_server_complains_of_is_sent_otherwise_and_remembered(
    bench: Bench, refused: Any, tries: int
) -> None:
    server = bench.serve([rule("screener", GARBAGE, CLEAR)], kind=Refusing)
    server.refused = refused
    model = bench.model()
    assert await bench.screen(model) == "clear_match"
    assert (server.refusals, len(server.calls)) == (tries, 2)
    tokens, _ = bench.spent(model)
    assert tokens < 2_048, "what is refused costs nothing"


async def test_a_setting_names_the_limit_where_no_complaint_helps(bench: Bench) -> None:
    server = bench.serve([rule("screener", CLEAR)], kind=Refusing)
    server.refused = ((has("max_tokens", "max_completion_tokens"), 400, "unknown key max_tokens"),)
    with pytest.raises(ModelRefusedError, match="COSQA_LLM__LIMIT_KEY"):
        await bench.screen()
    assert await bench.screen(limit_key="max_new_tokens") == "clear_match"


@pytest.mark.parametrize(
    "cut",
    [
        TRUNCATED | {"finish": "length"},
        EMPTY | {"finish": "length"},
        TRUNCATED | {"usage": {"prompt_tokens": 99, "completion_tokens": 2_048}},
    ],
)
async def test_a_reply_that_its_limit_cut_is_told_and_not_requested_again(
    bench: Bench, cut: dict[str, Any]
) -> None:
    server = bench.serve([rule("screener", cut, CLEAR)])
    for _ in range(2):
        with pytest.raises(ReplyCutError, match=r"cut at COSQA_LLM__MAX_TOKENS \(2,048 tokens\)"):
            await bench.screen()
    assert server.count("screener") == 1
    assert [call.status for call in bench.calls] == ["unreadable"] * 2
    assert await bench.screen(max_tokens=4_096) == "clear_match"


async def test_a_reply_that_the_context_cut_is_told_with_its_setting(bench: Bench) -> None:
    counts = {"prompt_tokens": 2_000, "completion_tokens": 48}
    bench.serve([rule("screener", TRUNCATED | {"finish": "length", "usage": counts})])
    with pytest.raises(ReplyCutError, match=r"MAX_TOKENS.* 48 tokens.*OLLAMA_CONTEXT_LENGTH"):
        await bench.screen()


@pytest.mark.parametrize("repeated", ["no ", "of the code that is a ", "x", "a line of it\\n" * 9])
async def test_a_reply_that_repeats_itself_without_end_is_asked_for_once_more(
    bench: Bench, repeated: str
) -> None:
    endless = {"text": '{"reason": "' + 300 * repeated, "finish": "length"}
    server = bench.serve([rule("screener", endless, CLEAR)])
    await bench.screen()
    assert [call.status for call in bench.calls] == ["unreadable", "ok"]
    *_, echo, again = server.calls[1]["messages"]
    assert len(echo["content"]) < 300, "it sees little of that"
    assert re.fullmatch(r"That reply repeats .* without end.\nReply again, .*", again["content"])
    bench.serve([rule("screener", endless)])
    with pytest.raises(UnreadableReplyError, match="no readable reply in 2 attempts"):
        await bench.screen(max_tokens=1_024)


async def test_a_whole_reply_counts_though_the_limit_ended_it(bench: Bench) -> None:
    bench.serve([rule("screener", CLEAR | {"finish": "length"})])
    assert await bench.screen() == "clear_match"
    assert (bench.calls[0].status, bench.calls[0].error) == ("ok", "")


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_a_passing_failure_is_tried_again(bench: Bench, status: int) -> None:
    server = bench.serve([rule("screener", {"status": status}, {"status": status}, CLEAR)])
    assert await bench.screen() == "clear_match"
    assert server.count("screener") == 3
    assert [call.status for call in bench.calls] == ["ok"]


async def test_retry_after_is_waited_for(bench: Bench) -> None:
    bench.serve([rule("screener", {"status": 429, "retry_after": "0.4"}, CLEAR)])
    started = time.monotonic()
    await bench.screen(max_backoff_s=5)
    assert time.monotonic() - started >= 0.4


async def test_a_lasting_failure_is_unavailable_after_all_tries(bench: Bench) -> None:
    server = bench.serve([rule("screener", {"status": 503, "message": "overloaded"})])
    with pytest.raises(ModelUnavailableError, match=r"no reply in 3 tries \(503: .*overloaded"):
        await bench.screen()
    assert server.count("screener") == 3
    assert [call.status for call in bench.calls] == ["unavailable"]


async def test_a_failure_is_not_remembered(bench: Bench) -> None:
    bench.serve([rule("screener", {"status": 503}, CLEAR)])
    with pytest.raises(ModelUnavailableError):
        await bench.screen(max_retries=0)
    assert await bench.screen(max_retries=0) == "clear_match"


async def test_a_slow_reply_times_out(bench: Bench) -> None:
    bench.serve([rule("screener", {"delay_s": 60, **CLEAR})])
    started = time.monotonic()
    with pytest.raises(ModelUnavailableError, match="408"):
        await bench.screen(timeout_s=0.3, max_retries=0)
    assert time.monotonic() - started < 60


async def test_a_server_that_is_gone_is_unavailable(bench: Bench) -> None:
    with ScriptedServer([]) as server:
        address = server.base_url
    with pytest.raises(ModelUnavailableError, match="2 tries"):
        await bench.screen(base_url=address, max_retries=1)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404])
async def test_a_refusal_is_not_tried_again_and_names_the_way_out(
    bench: Bench, status: int
) -> None:
    server = bench.serve([rule("screener", {"status": status, "message": "no"}, CLEAR)])
    said = r"openai/scripted refused.*the model's name.*COSQA_LLM__API_KEY"
    with pytest.raises(ModelRefusedError, match=said):
        await bench.screen()
    assert server.count("screener") == 1
    assert [call.status for call in bench.calls] == ["refused"]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"status": 401, "message": "no such key"}, "refused the request .401: .*API_KEY"),
        ({"status": 404, "message": "no such model"}, "refused the request .404: .*model's name"),
        ({"status": 403}, "refused"), ({"status": 200, "message": "<html>"}, "BASE_URL"),
        ({"status": 503}, ""), ({"status": 429, "retry_after": "20"}, ""), ({"text": "maybe"}, ""),
    ],
)  # fmt: skip
async def test_the_first_small_request_fails_where_all_would(
    bench: Bench, step: dict[str, Any], said: str
) -> None:
    server = bench.serve([rule("probe", step)])
    model = bench.model()
    if said:
        with pytest.raises(LanguageModelError, match=said):
            await model.check_answer()
    else:
        await model.check_answer()
    assert server.count("probe") == 1


async def test_a_server_that_is_away_fails_the_first_request_and_one_that_is_slow_does_not(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slow = rule("probe", {"reply": {"verdict": "yes"}, "delay_s": 5.0})
    bench.serve([slow])
    monkeypatch.setattr("agents.llm.client._PATIENCE_S", 1.0)
    await bench.model().check_answer()
    assert "openai/scripted has not answered a small request in 1 s" in caplog.text
    monkeypatch.undo()
    with pytest.raises(ModelUnavailableError, match="check that its server runs, and COSQA_LLM__"):
        await bench.model(base_url="http://127.0.0.1:9/v1", max_retries=0).check_answer()


async def test_imports_of_the_first_request_are_no_slowness_of_the_server(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine takes longer for them than a server is waited for."""
    bench.serve([ANSWERS])
    real = Transport.open

    def open_slowly(self: Transport) -> None:
        monkeypatch.setattr("agents.llm.client._PATIENCE_S", 150.0)
        real(self)

    monkeypatch.setattr(Transport, "open", open_slowly)
    monkeypatch.setattr("agents.llm.client._PATIENCE_S", 0.0)  # by then it is over
    assert await bench.model().check_answer()


async def test_a_name_without_a_provider_is_refused(bench: Bench) -> None:
    bench.serve([rule("screener", CLEAR)])
    with pytest.raises(ModelRefusedError, match="check the model's name"):
        await bench.screen(model="nobody-knows-this")


ANSWERS = rule("probe", {"reply": {"verdict": "yes"}})
OF_A_FIREWALL = (400, 403, 404, 406, 410, 418, 422, 451)


@pytest.mark.parametrize("status", OF_A_FIREWALL)
async def test_a_prompt_that_alone_is_refused_stops_only_itself(bench: Bench, status: int) -> None:
    refusal = {"status": status, "message": "blocked by our firewall"}
    bench.serve([ANSWERS, rule("screener", refusal)])
    with pytest.raises(PromptDeclinedError, match="blocked by our firewall"):
        await bench.screen()
    assert [call.status for call in bench.calls] == ["refused"]


@pytest.mark.parametrize("refused", [401, 402])
async def test_no_other_prompt_is_sent_with_a_key_that_is_refused(
    bench: Bench, refused: int
) -> None:
    server = bench.serve([ANSWERS, rule("screener", {"status": refused, "message": "no"})])
    with pytest.raises(ModelRefusedError):
        await bench.screen()
    assert server.count("probe") == 0


async def test_an_account_that_is_closed_in_mid_run_ends_it_and_decides_no_pair(
    bench: Bench,
) -> None:
    closed = {"status": 403, "message": "your account is suspended"}
    bench.serve([rule("screener", CLEAR), rule("probe", closed)])
    model = bench.model()
    await bench.screen(model)
    bench.server.follow([rule("screener", closed), rule("probe", closed)])
    with pytest.raises(ModelRefusedError, match="suspended"):
        await bench.screen(temperature=1)


async def test_prompts_that_are_refused_at_once_share_what_is_found_out(bench: Bench) -> None:
    slow = rule("probe", {"reply": {"verdict": "yes"}, "delay_s": 1.0})
    server = bench.serve([slow, rule("screener", {"status": 400})])
    screener, query = Screener(bench.model()), Query.of("a query")
    pairs = [Pair(query=query, code=Code.of(f"def f(): return {number}")) for number in range(8)]
    ends = await asyncio.gather(*map(screener.screen, pairs), return_exceptions=True)
    assert {type(end) for end in ends} == {PromptDeclinedError}
    assert server.count("probe") <= 2


async def test_a_refusal_of_which_nothing_can_be_found_out_may_pass(bench: Bench) -> None:
    bench.serve([rule("probe", {"status": 503}), rule("screener", {"status": 400})])
    with pytest.raises(ModelUnavailableError):
        await bench.screen(max_retries=0)


@pytest.mark.parametrize(
    ("status", "message", "said"),
    [
        (413, "too large", "too long .*; longer code is cut to COSQA_LLM__MAX_CODE_CHARACTERS"),
        (400, "This model's maximum context length is 100 tokens", "too long for openai/scripted"),
        (400, "invalid_request_error: content_policy_violation", "filtered this prompt"),
    ],
)
async def test_a_prompt_that_is_declined_stops_only_itself(
    bench: Bench, status: int, message: str, said: str
) -> None:
    bench.serve([rule("screener", {"status": status, "message": message})])
    with pytest.raises(PromptDeclinedError, match=said):
        await bench.screen()


async def test_the_key_is_nowhere_in_evidence_errors_or_files(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = {"status": 401, "message": f"Incorrect API key provided: {KEY}"}
    bench.serve([rule("screener", CLEAR), rule("writer", told)])
    await bench.screen()
    bench.serve([rule("screener", told)])
    with caplog.at_level(0), pytest.raises(LanguageModelError) as caught:
        await bench.screen(temperature=1)
    assert "Incorrect API key provided: ***" in str(caught.value)
    stored = journal_text(tmp_path)
    assert "clear_match" in stored
    assert KEY not in f"{caught.value}{bench.calls}{stored}{caplog.text}{bench.settings()!r}"


async def test_requests_are_paced(bench: Bench) -> None:
    bench.serve([rule("screener", GARBAGE, GARBAGE)])
    started = time.monotonic()
    with pytest.raises(UnreadableReplyError):
        await bench.screen(requests_per_minute=120)
    assert time.monotonic() - started >= 0.5


async def test_closing_one_client_leaves_others_open(bench: Bench) -> None:
    bench.serve([rule("screener", {"delay_s": 0.2, **CLEAR})])
    first, second = bench.model(), bench.model(max_tokens=99)
    await bench.screen(first)
    busy = asyncio.ensure_future(bench.screen(second))
    await asyncio.sleep(0.1)
    await first.close()
    assert await busy == "clear_match"
    assert bench.server.count("screener") == 2


async def test_a_closed_client_can_be_followed_by_another(bench: Bench) -> None:
    bench.serve([rule("screener", CLEAR)])
    for tokens in (100, 101):
        model = bench.model(max_tokens=tokens)
        assert await bench.screen(model) == "clear_match"
        await model.close()


async def test_fractional_counts_lose_no_paid_reply(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_ORG_ID", raising=False)  # litellm's own way refuses such a reply
    usage = {"prompt_tokens": 12.5, "completion_tokens": 3, "total_tokens": 15.5}
    server = bench.serve([rule("screener", {**CLEAR, "usage": usage})])
    assert await bench.screen(model="openai/gpt-4o-mini") == "clear_match"
    assert (bench.calls[0].prompt_tokens, bench.calls[0].cost_usd) == (None, None)
    assert server.count("screener") == 1


@pytest.mark.parametrize("half", ["\ud83d", "a\ud800b", "\udc80c"])
@pytest.mark.parametrize("escaped", [True, False])
async def test_half_of_a_surrogate_pair_neither_loses_a_reply_nor_asks_again(
    bench: Bench, half: str, escaped: bool
) -> None:
    reply = {"reason": half, "verdict": "clear_match"}
    text = json.dumps(reply, ensure_ascii=escaped)
    server = bench.serve([rule("screener", {"text": text})])
    for _ in range(2):
        assert await bench.screen() == "clear_match"
    assert server.count("screener") == 1
    assert [call.cached for call in bench.calls] == [False, True]
    bench.calls[0].model_dump_json()


async def test_the_key_of_a_kept_reply_stays_what_it_was(bench: Bench) -> None:
    bench.serve([rule("screener", CLEAR)])
    await bench.screen()
    assert bench.calls[0].prompt_digest == "83bb0231bce920c0d6b4c22a2a6f9814", (
        "else all replies are paid for again"
    )
