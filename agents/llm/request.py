"""Requests to a model: their content, the most that each may take, and plausible counts of it."""

import json
from typing import Any, NamedTuple

from agents.llm.reply import RawReply
from infra.records import Record

_TOKENS_A_MESSAGE = 8  # that mark a message's role, beginning and end
# That a provider may bill beside prompt and reply: a form's explanation, thoughts that it does not
# count to the limit. To believe a little too much is safe; what is billed and not believed is not.
_UNSEEN_TOKENS = 50_000


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
