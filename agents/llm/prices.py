"""Prices of language and embedding models by litellm's table."""

from agents.llm.litellm_transport import loaded_litellm
from agents.llm.price_list import price_of

_TOKENS = 1_000  # few enough for the price of a short request


def token_prices(model: str) -> tuple[float, float] | None:
    """Return the US dollars of a token sent and of one received, None for no known price.

    Importing litellm takes seconds.
    """
    litellm = loaded_litellm()
    sent, received = price_of(litellm, model, _TOKENS, 0), price_of(litellm, model, 0, _TOKENS)
    return None if sent is None or received is None else (sent / _TOKENS, received / _TOKENS)
