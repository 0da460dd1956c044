"""Prices of models by the settings or by litellm's list; what both lack is unknown, not free.

The list is read without litellm, whose import takes seconds, and whose own count of a price takes
half a millisecond.
"""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from infra.settings import LanguageModelSettings

_LIST = "model_prices_and_context_window_backup.json"
_MILLION = 1_000_000


class Prices(NamedTuple):
    """US dollars of a token sent, received, and sent once more within the provider's cache."""

    sent: float
    received: float
    cached: float

    def usd(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """Return the US dollars for tokens sent, some of them cached, and received."""
        cached = min(cached_tokens, prompt_tokens)
        sent = (prompt_tokens - cached) * self.sent + cached * self.cached
        return sent + completion_tokens * self.received


def prices_of(llm: LanguageModelSettings) -> Prices | None:
    """Return the prices of a model, which may be 0; None where they are unknown."""
    if llm.usd_per_million_tokens is None:
        return _listed_prices(llm.model)
    sent, received = llm.usd_per_million_tokens
    return Prices(sent / _MILLION, received / _MILLION, sent / _MILLION)


def provider_of(model: str) -> str:
    """Return the provider that litellm's name of a model begins with, or has by the list."""
    provider, _, name = model.partition("/")
    return provider if name else str(_price_list().get(model, {}).get("litellm_provider", ""))


@cache
def _listed_prices(model: str) -> Prices | None:
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
