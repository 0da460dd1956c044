"""Laws of models' prices."""

import pytest

from agents.llm.prices import token_prices


def test_a_model_that_litellm_knows_has_a_price_of_a_token_sent_and_of_one_received() -> None:
    assert token_prices("openai/gpt-4o-mini") == pytest.approx((0.15e-6, 0.6e-6))


def test_a_model_that_litellm_does_not_know_has_none() -> None:
    assert token_prices("openai/scripted") is None
