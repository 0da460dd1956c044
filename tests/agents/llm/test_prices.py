"""Laws of models' prices.

Covers `agents.llm.price_list`.
"""

import subprocess
import sys
from typing import Any

import pytest

from agents.llm.litellm_transport import loaded_litellm
from agents.llm.price_list import Prices, prices_of
from infra.settings import LanguageModelSettings


def listed(model: str) -> Prices | None:
    """Return the prices of a model that the list has."""
    return prices_of(LanguageModelSettings(model=model))


def test_a_model_that_litellm_knows_has_a_price_of_a_token_sent_and_of_one_received() -> None:
    assert listed("openai/gpt-4o-mini") == pytest.approx((0.15e-6, 0.6e-6, 0.075e-6))


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "openai/scripted"])
def test_prices_of_the_user_come_before_those_of_the_list(model: str) -> None:
    llm = LanguageModelSettings(model=model, usd_per_million_tokens=(2, 8))
    assert prices_of(llm) == pytest.approx((2e-6, 8e-6, 2e-6))


@pytest.mark.parametrize("prices", [(-1, 1), (1, float("inf")), (1, float("nan")), (1,), 3])
def test_prices_that_are_none_are_refused(prices: Any) -> None:
    with pytest.raises(ValueError, match="usd_per_million_tokens"):
        LanguageModelSettings(model="m", usd_per_million_tokens=prices)


def test_a_model_that_litellm_does_not_know_has_none() -> None:
    assert listed("openai/scripted") is None


@pytest.mark.parametrize("model", ["dashscope/qwen3-30b-a3b", "openai/container"])
def test_a_model_that_litellm_lists_without_a_price_has_none(model: str) -> None:
    assert listed(model) is None


def test_a_model_that_litellm_lists_at_0_is_free() -> None:
    assert listed("gemini/gemma-3-27b-it") == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "model",
    ["openai/gpt-4o-mini", "gpt-4o", "deepseek/deepseek-chat", "xai/grok-4.3",
     "anthropic/claude-haiku-4-5", "azure/gpt-4o", "mistral/mistral-large-latest"],
)  # fmt: skip
def test_the_list_has_the_prices_by_which_litellm_counts(model: str) -> None:
    counted = loaded_litellm().cost_per_token(
        model=model, prompt_tokens=1_000, completion_tokens=70
    )
    prices = listed(model)
    assert prices
    assert prices.usd(1_000, 70) == pytest.approx(sum(counted))


def test_prices_of_a_plan_are_read_without_litellm() -> None:
    """Its import takes seconds of every run."""
    program = (
        "import sys; from agents import prices_of; from infra.settings import "
        "LanguageModelSettings; print(prices_of(LanguageModelSettings(model='gpt-4o')))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", f"{program}; print('litellm' in sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ended.stdout.split("\n")[1] == "False"
