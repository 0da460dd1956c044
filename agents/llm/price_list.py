"""What litellm's price list tells of a model; what it does not tell is unknown, not free.

It names models without any price, too, and litellm counts these at 0.
"""

import json
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from agents.llm.loading import loaded_litellm

_LIST = "model_prices_and_context_window_backup.json"  # the one that `loaded_litellm` takes
_PRICES = ("input_cost_per_token", "output_cost_per_token")

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


@cache
def is_priced(model: str) -> bool:
    """Return whether a token of a model has a price."""
    litellm = loaded_litellm()
    name = _told(model, lambda *named: str(litellm.get_model_info(*named)["key"]))
    if name is None:
        return False
    listed = litellm.model_cost.get(name)  # None where a server of the user's own tells it
    return listed is None or _PRICES[0] in listed


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
    """Return the US dollars of a token sent and of one received, None for no known price.

    It reads litellm's list without litellm, whose import takes seconds.
    """
    provider, _, name = model.partition("/")
    listed = _price_list()
    entry = listed.get(model) or listed.get(name, {})
    sent, received = (entry.get(price) for price in _PRICES)
    is_of_provider = not name or str(entry.get("litellm_provider")).startswith(provider)
    if sent is None or received is None or not is_of_provider:
        return None
    return float(sent), float(received)


@cache
def _price_list() -> dict[str, dict[str, Any]]:
    """Return model → what litellm's list says of it."""
    package = find_spec("litellm")
    assert package  # noqa: S101 - a dependency
    assert package.origin  # noqa: S101 - it is a folder with files
    listed: dict[str, dict[str, Any]] = json.loads(
        Path(package.origin).with_name(_LIST).read_text("utf-8")
    )
    return listed
