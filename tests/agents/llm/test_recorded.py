"""Laws of recorded replies: found by what a request is about, and by nothing else."""

from typing import Any

import pytest

from agents.committee.algorithm import build_model
from agents.llm.prompt import Prompt, fence, pair_section
from agents.llm.recorded import RecordedReplies, key_of
from agents.roles.read import Screening
from infra.errors import ModelRefusedError
from infra.records import Code, Pair, Query
from infra.settings import LanguageModelSettings

PAIR = pair_section(Pair(query=Query.of("q"), code=Code.of("def f(x):\n    return x\n")), 999)


def test_the_words_of_a_prompt_do_not_change_the_key() -> None:
    specification = fence("specification", "Reading: other words")
    report = fence("report", "at 0x7f, in 0.3 s")
    assert key_of("screener", PAIR) == key_of("screener", f"{specification}\n{PAIR}\n{report}")


@pytest.mark.parametrize(
    ("role", "prompt"),
    [
        ("arbiter", PAIR),
        ("screener", PAIR.replace("q\n", "other\n", 1)),
        ("screener", PAIR.replace("return x", "return -x")),
        ("screener", f"{PAIR}\n{fence('program', 'assert f(1)')}"),
        ("screener", f"{PAIR}\n{fence('program that proves nothing', 'assert f(1)')}"),
        ("screener", f"{PAIR}\n{fence('arguments', '1')}"),
        ("screener", f"{PAIR}\n{fence('signature', 'def f(x)')}"),
    ],
)
def test_another_request_has_another_key(role: str, prompt: str) -> None:
    assert key_of(role, prompt) != key_of("screener", PAIR)


@pytest.mark.parametrize("model", ["stdlib-sample", "none", "../recorded/stdlib-sample", ""])
async def test_what_is_not_recorded_is_refused_with_the_way_out(model: str) -> None:
    ledger: Any = Ledger()
    recorded = RecordedReplies(LanguageModelSettings(model=f"recorded/{model}"), ledger)
    with pytest.raises(ModelRefusedError, match=r"reply of the screener|no replies of that name"):
        await recorded.ask("screener", Prompt(system="s", user=PAIR), Screening)


class Ledger:
    """Notes how often it is closed."""

    closed = 0

    async def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("model", ["recorded/stdlib-sample", "openai/some-model"])
async def test_a_model_closes_the_ledger_that_it_was_built_with(model: str) -> None:
    """Else the owner counts a shard's pairs for ever, beside those that the store has."""
    ledger: Any = Ledger()
    llm = LanguageModelSettings(model=model, base_url="http://127.0.0.1:9/v1")
    await build_model(llm, ledger).close()
    assert ledger.closed == 1
