"""Laws of models' prices.

Covers `agents.llm.price_list` and `agents.llm.loading`.
"""

import pytest

from agents.llm.price_list import token_prices


def test_a_model_that_litellm_knows_has_a_price_of_a_token_sent_and_of_one_received() -> None:
    assert token_prices("openai/gpt-4o-mini") == pytest.approx((0.15e-6, 0.6e-6))


def test_a_model_that_litellm_does_not_know_has_none() -> None:
    assert token_prices("openai/scripted") is None


@pytest.mark.parametrize("model", ["dashscope/qwen3-30b-a3b", "openai/container"])
def test_a_model_that_litellm_lists_without_a_price_has_none(model: str) -> None:
    assert token_prices(model) is None


def test_a_model_that_litellm_lists_at_0_is_free() -> None:
    assert token_prices("gemini/gemma-3-27b-it") == (0.0, 0.0)
