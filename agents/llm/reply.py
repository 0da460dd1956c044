"""Replies as providers send them and as the journal stores them, so that none is paid for twice.

A reply's key is the hash of the request: model, messages, schema, sampling, attempt and labelling
round. The server's address and the API key are no part of it.
"""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from infra.records import Record

_MAX_TOKENS = 10**9  # of one call; a provider that reports more is not believed
_MAX_COST_USD = 10**5


def valid_unicode(text: str) -> str:
    """Return text with lone surrogates replaced: no file, database or request can hold them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def plausible_count(value: object) -> int | None:
    """Return a number of tokens, None for what cannot be one (negative, fractional, absurd)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    is_plausible = 0 <= value <= _MAX_TOKENS and value == int(value)  # NaN and inf are not
    return int(value) if is_plausible else None


def _plausible_cost(value: object) -> float | None:
    """Return a price in US dollars, None for what cannot be one (negative, absurd, no number)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= _MAX_COST_USD else None


Count = Annotated[int | None, BeforeValidator(plausible_count)]


class RawReply(Record):
    """A model's reply as the provider sent it; counts and costs that cannot be true are unknown.

    Attributes:
        text: The reply, with lone surrogates replaced.
        prompt_tokens: None where the provider did not say.
        completion_tokens: Likewise.
        cost_usd: None where the price is unknown.
        seconds: How long the request took.
    """

    text: Annotated[str, AfterValidator(valid_unicode)]
    prompt_tokens: Count = None
    completion_tokens: Count = None
    cost_usd: Annotated[float | None, BeforeValidator(_plausible_cost)] = None
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion together, 0 where neither was counted."""
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)

    @property
    def is_counted(self) -> bool:
        """Whether the tokens of both are known."""
        return self.prompt_tokens is not None and self.completion_tokens is not None
