"""The law of servers that drop a part of long prompts: no reply to these counts, and it is told."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agents.llm.client import LanguageModel
from agents.roles.read import Screener
from infra.errors import PromptsCutError
from infra.records import Code, Pair, Query
from tests.agents.conftest import CLEAR, Bench, rule
from tests.fakes.llm_server import ScriptedServer

CONTEXT = 2_048
STEPS = {"screener": CLEAR, "probe": {"reply": {"verdict": "yes"}}}
SCRIPT = [rule(role, step) for role, step in STEPS.items()]
Count = Callable[[int], int]


class Counting(ScriptedServer):
    """A server whose count of a prompt follows from its words; by default it is cut."""

    count_of: Count = staticmethod(lambda words: min(words, CONTEXT))
    declined = 10**9  # words of prompts that are refused

    def answer(self, request: dict[str, Any], key: str) -> Mapping[str, Any]:
        words = sum(len(message["content"].split()) for message in request["messages"])
        step = super().answer(request, key)
        if words >= self.declined:
            return {"status": 400, "message": "the request exceeds the available context size"}
        return {**step, "usage": {"prompt_tokens": self.count_of(words), "completion_tokens": 9}}


def serve(bench: Bench, count: Count | None = None) -> Counting:
    server = bench.serve(SCRIPT, kind=Counting)
    server.count_of = count or server.count_of
    return server


async def screen(model: LanguageModel, *sizes: int) -> list[object]:
    """Ask about codes of so many words, one after the other; return verdicts and errors."""
    ends: list[object] = []
    for number, words in enumerate(sizes):
        code = Code.of(f"def f{number}():\n    return 0\n" + "x = 1\n" * (words // 3))
        pair = Pair(query=Query.of("a query"), code=code)
        ends += await asyncio.gather(Screener(model).screen(pair), return_exceptions=True)
    return [getattr(end, "verdict", end) for end in ends]


async def test_a_server_that_cuts_prompts_is_told_with_its_setting(bench: Bench) -> None:
    server = serve(bench)
    ends = await screen(bench.model(), 90, 2_100, 2_400, 3_000)
    assert ends[0] == "clear_match"
    for said in ("2,048 tokens", "OLLAMA_CONTEXT_LENGTH", "-c (llama.cpp)", "--max-model-len"):
        assert said in str(ends[1])
    assert isinstance(ends[1], PromptsCutError)
    assert ends[2:] == [ends[1], ends[1]], "no more is paid for"
    assert server.count("screener") == 2


async def test_the_check_of_a_server_stands_behind_no_pair(bench: Bench) -> None:
    slow = [rule(role, {**step, "delay_s": 0.1}) for role, step in STEPS.items()]
    server = bench.serve(slow, kind=Counting)
    model = bench.model()
    ends = await asyncio.gather(*[screen(model, 2_100 + 3 * number) for number in range(200)])
    assert any(isinstance(end, PromptsCutError) for [end] in ends)
    roles = [call["role"] for call in server.calls]
    assert roles.index("probe") < 100, "while most pairs wait for their turn"


@pytest.mark.parametrize("context", [300, 1_500, 2_000])
async def test_replies_to_prompts_that_were_cut_are_requested_again(
    bench: Bench, context: int
) -> None:
    serve(bench, lambda words: min(words, context))
    ends = await screen(bench.model(), 2_100, 2_101)
    assert isinstance(ends[-1], PromptsCutError)
    mended = serve(bench, lambda words: words)
    assert await screen(bench.model(), 2_100, 2_101) == ["clear_match"] * 2
    assert mended.count("screener") == 2


@pytest.mark.parametrize(
    "count",
    [
        lambda words: words,
        lambda words: words * 3,
        lambda _: 10,  # a gateway that counts nothing
        lambda _: 1_000,
        lambda words: words // 100 * 100,  # long prompts are alike
        lambda words: 2_048 if words < 4_000 else words,
    ],
)
async def test_a_server_that_reads_prompts_whole_is_believed(bench: Bench, count: Count) -> None:
    server = serve(bench, count)
    sizes = [90, 2_100, 2_100, 2_400, 2_403, 2_409, 2_400]
    assert await screen(bench.model(), *sizes) == ["clear_match"] * len(sizes)
    assert server.count("probe") <= 4


async def test_a_server_that_refuses_long_prompts_cuts_none(bench: Bench) -> None:
    server = serve(bench, lambda words: words // 100 * 100)
    server.declined = 2_900
    assert await screen(bench.model(), *[2_100] * 4) == ["clear_match"] * 4
    assert server.count("probe") <= 2


async def test_where_nothing_can_be_found_out_it_is_told(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(bench)
    server.follow(SCRIPT[:1])
    assert await screen(bench.model(), 2_100, 2_400) == ["clear_match"] * 2
    assert "2,048 tokens" in caplog.text
