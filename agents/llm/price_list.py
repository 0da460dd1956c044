"""What litellm's price list tells of a model; what it does not tell is unknown, not free.

It names models without any price, too, and litellm counts these at 0.
"""

from collections.abc import Callable
from typing import TypeVar

from agents.llm.loading import loaded_litellm

_PRICE = "input_cost_per_token"
_TOKENS = 1_000  # few enough for the price of a short request

_Answer = TypeVar("_Answer")


def _told(model: str, ask: Callable[[str, str], _Answer]) -> _Answer | None:
    """Return what litellm tells of a model, None where it does not know it.

    Args:
        model: litellm's name of the model.
        ask: Gets the model's name without the provider, and the provider's.
    """
    try:
        name, provider, *_ = loaded_litellm().get_llm_provider(model)
        return ask(name, provider)
    except Exception:  # noqa: BLE001 - litellm raises a plain one for what it does not know
        return None


def is_priced(model: str) -> bool:
    """Return whether a token of a model has a price."""
    litellm = loaded_litellm()
    name = _told(model, lambda *named: str(litellm.get_model_info(*named)["key"]))
    if name is None:
        return False
    listed = litellm.model_cost.get(name)  # None where a server of the user's own tells it
    return listed is None or _PRICE in listed


def price_of(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return the US dollars for so many tokens of a model, None where its price is unknown."""

    def count(name: str, provider: str) -> float:
        prices = loaded_litellm().cost_per_token(
            model=name,
            custom_llm_provider=provider,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
        )
        return float(sum(prices))

    usd = _told(model, count)
    return usd if usd or is_priced(model) else None


def token_prices(model: str) -> tuple[float, float] | None:
    """Return the US dollars of a token sent and of one received, None for no known price."""
    sent, received = price_of(model, _TOKENS, 0), price_of(model, 0, _TOKENS)
    return None if sent is None or received is None else (sent / _TOKENS, received / _TOKENS)
