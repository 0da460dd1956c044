"""Prices of batches: litellm's price list where it has them, else half of the usual ones."""

from typing import Any

from agents.llm.budget import TokenLimits
from agents.llm.litellm_transport import loaded_litellm
from agents.llm.price_list import prices_of, told
from infra.records import Record

_USUAL_SHARE = 0.5
_USUAL = TokenLimits(prompt=1_000, completion=200)  # in whose proportion prices are compared


class BatchShare(Record):
    """The share of the usual price that a batch costs, and how it is known."""

    share: float
    basis: str


def batch_share(model: str) -> BatchShare:
    """Return which share of the usual price a model's replies cost in a batch."""
    litellm = loaded_litellm()
    prices = prices_of(litellm, model)
    usual = _sum_of(prices, "")
    batch = _sum_of(prices, "_batches")
    if not usual or not batch:
        return BatchShare(share=_USUAL_SHARE, basis="half the usual price, as OpenAI's batches are")
    return BatchShare(share=batch / usual, basis="the price of batches in litellm's list")


def batch_price(model: str, limits: TokenLimits) -> float | None:
    """Return the US dollars for so many tokens in a batch, None where the price is unknown."""
    usage = loaded_litellm().Usage(
        prompt_tokens=limits.prompt, completion_tokens=limits.completion, total_tokens=limits.total
    )
    return price_of_usage(model, usage)


def price_of_usage(model: str, usage: Any) -> float | None:  # noqa: ANN401 - litellm has no types
    """Return the US dollars for the usage that a reply in a batch reports, None where unknown."""
    litellm = loaded_litellm()
    if not prices_of(litellm, model):
        return None

    def count(name: str, provider: str) -> float:
        calculator = litellm.cost_calculator.batch_cost_calculator
        return float(sum(calculator(usage=usage, model=name, custom_llm_provider=provider)))

    return told(litellm, model, count)


def _sum_of(prices: dict[str, Any], kind: str) -> float:
    """Return the price of a usual prompt and reply, 0 where it is unknown."""
    prompt = prices.get(f"input_cost_per_token{kind}")
    completion = prices.get(f"output_cost_per_token{kind}")
    if prompt is None or completion is None:
        return 0.0
    return float(prompt * _USUAL.prompt + completion * _USUAL.completion)
