"""Requests to a model, and replies as providers send them and as the journal stores them.

A reply's key is the hash of the request: model, messages, schema, sampling, attempt and labelling
round. The server's address and the API key are no part of it.
"""

import json
import re
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator

from infra.records import Record

_MAX_TOKENS = 10**9  # of one call; a provider that reports more is not believed
_MAX_COST_USD = 10**5
_TOKENS_A_MESSAGE = 8  # that mark a message's role, beginning and end
# That a provider may bill beside prompt and reply: a form's explanation, thoughts that it does not
# count to the limit. To believe a little too much is safe; what is billed and not believed is not.
_UNSEEN_TOKENS = 50_000
_REPETITION = re.compile(r"(?s)((.{1,200}?)\2{4,}).{0,200}\Z")
_LONGEST_TAIL, _REPEATED = 1_400, 200  # characters at a reply's end; those that repeat one text


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
        is_cut: Whether it ended at the limit of its tokens.
        is_void: Whether the server had cut the prompt, so that it is requested again.
    """

    text: Annotated[str, AfterValidator(valid_unicode)]
    prompt_tokens: Count = None
    completion_tokens: Count = None
    cost_usd: Annotated[float | None, BeforeValidator(_plausible_cost)] = None
    seconds: float = 0.0
    is_cut: bool = False
    is_void: bool = False

    @property
    def tokens(self) -> int:
        """Prompt and completion together, 0 where neither was counted."""
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)

    @property
    def is_counted(self) -> bool:
        """True if the tokens of both are known."""
        return self.prompt_tokens is not None and self.completion_tokens is not None


class TokenLimits(NamedTuple):
    """The most tokens that a request may take."""

    prompt: int
    completion: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt + self.completion


class Request(Record):
    """A request; with the model its fields identify a reply: they are part of the cache's keys."""

    role: str
    attempt: int
    messages: tuple[dict[str, str], ...]
    reply_schema: dict[str, Any]


HARMLESS = Request(
    role="probe",
    attempt=1,
    messages=(
        {"role": "system", "content": "Role: probe\nReply with the verdict yes."},
        {"role": "user", "content": "Do you answer?"},
    ),
    reply_schema={
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["yes"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    },
)


def repetition(text: str) -> str:
    """Return the text that a reply repeats until its end, "" where it does not."""
    found = _REPETITION.search(text[-_LONGEST_TAIL:])
    return found[2] if found and len(found[1]) > _REPEATED else ""


def token_limits(request: Request, max_tokens: int) -> TokenLimits:
    """Return the most tokens that a request may take: of the prompt one a byte, as of digits."""
    contents = [message["content"] for message in request.messages]
    size = sum(len(text.encode()) for text in [*contents, json.dumps(request.reply_schema)])
    marks = _TOKENS_A_MESSAGE * len(contents)
    return TokenLimits(prompt=size + marks, completion=max_tokens)


def believable(reply: RawReply, limits: TokenLimits) -> RawReply:
    """Return the reply; its counts and price are unknown where these cannot be true.

    No prompt has 0 tokens, and no reply with a text: that is how some servers, and litellm for
    others, say that they count nothing, and the price that comes of it is 0.

    Args:
        reply: The reply.
        limits: The most that the request may take, beyond which nothing is true.
    """
    is_nought = reply.prompt_tokens == 0 or (reply.completion_tokens == 0 and bool(reply.text))
    is_too_much = reply.tokens > limits.total + _UNSEEN_TOKENS
    if not (is_nought or is_too_much):
        return reply
    unknown = dict.fromkeys(("prompt_tokens", "completion_tokens", "cost_usd"))
    return reply.model_copy(update=unknown)
