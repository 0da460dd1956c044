"""Prices of models by litellm's list; what it lacks is unknown, not free.

It is read without litellm, whose import takes seconds, and whose own count of a price takes half a
millisecond.
"""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

_LIST = "model_prices_and_context_window_backup.json"


class Prices(NamedTuple):
    """US dollars of a token sent, received, and sent once more within the provider's cache."""

    sent: float
    received: float
    cached: float


def is_priced(model: str) -> bool:
    """Return whether a token of a model has a price, which may be 0."""
    return _prices(model) is not None


def price_of(
    model: str, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0
) -> float | None:
    """Return the US dollars for tokens sent, some of them cached, and received; None if unknown."""
    prices = _prices(model)
    if prices is None:
        return None
    cached = min(cached_tokens, prompt_tokens)
    sent = (prompt_tokens - cached) * prices.sent + cached * prices.cached
    return sent + completion_tokens * prices.received


def token_prices(model: str) -> tuple[float, float] | None:
    """Return the US dollars of a token sent and of one received, None for no known price."""
    prices = _prices(model)
    return prices and (prices.sent, prices.received)


def provider_of(model: str) -> str:
    """Return the provider that litellm's name of a model begins with, or has by the list."""
    provider, _, name = model.partition("/")
    return provider if name else str(_price_list().get(model, {}).get("litellm_provider", ""))


@cache
def _prices(model: str) -> Prices | None:
    provider, _, name = model.partition("/")
    name = ":".join(name.split(":")[:2]) if name.startswith("ft:") else name
    listed = _price_list()
    entry = listed.get(model) or listed.get(name, {})
    sent, received = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    is_of_provider = not name or str(entry.get("litellm_provider")).startswith(provider)
    if sent is None or received is None or not is_of_provider:
        return None
    return Prices(float(sent), float(received), entry.get("cache_read_input_token_cost", sent))


@cache
def _price_list() -> dict[str, dict[str, Any]]:
    """Return model → its entry in litellm's list."""
    [folder] = find_spec("litellm").submodule_search_locations  # type: ignore[union-attr, misc]
    listed: dict[str, dict[str, Any]] = json.loads(Path(folder, _LIST).read_text("utf-8"))
    return listed
