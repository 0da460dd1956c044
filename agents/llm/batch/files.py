"""What a batch's files hold, and what it costs: requests that go out, results that come in.

A request is a line of JSON; so is a result. Their bodies depend on the model's provider.
"""

import json
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any, Literal, NamedTuple

from agents.llm.answers import read_object
from agents.llm.batch.api import ENDPOINT, WAY_OUT
from agents.llm.batch.requests import WaitingRequest
from agents.llm.bounds import LONGEST_REPLY
from agents.llm.cache import RawReply, kept
from agents.llm.litellm_transport import raw_reply, translated
from agents.llm.loading import loaded_litellm
from agents.llm.openai_transport import ChatCompletions
from agents.llm.price_list import prices_of, told
from agents.llm.question import Question, TokenLimits, believable, token_limits
from agents.llm.retry import RequestError
from agents.llm.structured_output import ResponseFormat
from infra.atomic import atomic_write
from infra.errors import SettingsError
from infra.records import Record
from infra.secrets import without_secrets_in
from infra.settings import LanguageModelSettings

BATCH_PROVIDERS = ("openai", "litellm_proxy")  # those whose servers have OpenAI's batch API
MAX_BYTES = 200 * 10**6  # of a batch's file; OpenAI's limit

_USUAL_SHARE = 0.5
_USUAL = TokenLimits(prompt=1_000, completion=200)  # in whose proportion prices are compared
_EXPIRED = "batch_expired"
_OK = 200
_MAX_MESSAGE = 600

_log = logging.getLogger(__name__)


def check_batches(settings: LanguageModelSettings) -> None:
    """Check that a model's provider has a batch API, without asking it.

    Raises:
        SettingsError: It has none that is known here.
    """
    if settings.is_recorded:
        raise SettingsError(f"{settings.model} has no batch API: {WAY_OUT}")
    provider = loaded_litellm().get_llm_provider(settings.model, api_base=settings.base_url)[1]
    if provider not in BATCH_PROVIDERS:
        raise SettingsError(
            f"llm.model {settings.model}: batches are sent by OpenAI's protocol, to "
            f"{' and '.join(BATCH_PROVIDERS)} models alone, not to {provider}: {WAY_OUT}"
        )


class BatchMessages:
    """Makes the bodies of requests, and reads those of replies.

    Args:
        settings: The model; `check_batches` has passed.

    Attributes:
        base_url: The server's address.
        key: The key.
    """

    def __init__(self, settings: LanguageModelSettings) -> None:
        key = settings.api_key.get_secret_value() if settings.api_key else None
        self._settings = settings
        self._completions = ChatCompletions(settings.model, settings.base_url, key)
        self.base_url, self.key = self._completions.base_url, self._completions.key

    def body_of(self, question: Question, form: ResponseFormat) -> dict[str, Any]:
        """Return the body of a request, in a response format that the provider takes."""
        messages, parameters = translated(
            self._settings, question.messages, question.reply_schema, form
        )
        return self._completions.body_of(messages, parameters)

    def reply_of(self, body: dict[str, Any]) -> RawReply:
        """Return what a reply's body holds, at the price of batches.

        Raises:
            ValueError: It is no completion.
        """
        response = self._completions.parsed(body)
        reply = believable(raw_reply(response, seconds=0.0))
        if not reply.is_counted:
            return reply
        usd = price_of_usage(self._settings.model, response.usage)
        return RawReply.model_validate(reply.model_dump() | {"cost_usd": usd})


def question_of(text: str) -> Question:
    """Return the question that a collected request holds."""
    return Question.model_validate(json.loads(text))


class BatchShare(Record):
    """The share of the usual price that a batch costs, and how it is known."""

    share: float
    basis: str


def batch_share(model: str) -> BatchShare:
    """Return which share of the usual price a model's replies cost in a batch."""
    prices = prices_of(model)
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
    if not prices_of(model):
        return None

    def count(name: str, provider: str) -> float:
        calculator = loaded_litellm().cost_calculator.batch_cost_calculator
        return float(sum(calculator(usage=usage, model=name, custom_llm_provider=provider)))

    return told(model, count)


def _sum_of(prices: dict[str, Any], kind: str) -> float:
    """Return the price of a usual prompt and reply, 0 where it is unknown."""
    prompt = prices.get(f"input_cost_per_token{kind}")
    completion = prices.get(f"output_cost_per_token{kind}")
    if prompt is None or completion is None:
        return 0.0
    return float(prompt * _USUAL.prompt + completion * _USUAL.completion)


class Outcome(Record):
    """What became of a request.

    Attributes:
        key: The reply's key.
        kind: ``answered``; ``failed``, where another batch may do; ``refused``, where none will;
            ``expired``, where the batch had no time for it.
        body: The completion, where answered.
        problem: Why not.
    """

    key: str
    kind: Literal["answered", "failed", "refused", "expired"]
    body: dict[str, Any] | None = None
    problem: str = ""


def request_line(key: str, body: dict[str, Any]) -> bytes:
    """Return a request as a line of the file to upload; the key is its ``custom_id``."""
    line = {"custom_id": key, "method": "POST", "url": ENDPOINT, "body": body}
    return json.dumps(line).encode() + b"\n"


def outcomes_of(file: Path, keys: Collection[str], api_key: str | None) -> Iterator[Outcome | None]:
    """Yield the outcomes in a downloaded file.

    Of a line that is no outcome, or of a request that the batch did not have, it is None.

    Args:
        file: The file of replies or of errors.
        keys: The batch's requests.
        api_key: What no problem may tell, though the provider may echo it.
    """
    with file.open("rb") as stream:
        for line in iter(partial(stream.readline, LONGEST_REPLY), b""):
            if line.strip():
                outcome = _outcome(line, api_key)
                yield outcome if outcome and outcome.key in keys else None


def _outcome(line: bytes, api_key: str | None) -> Outcome | None:
    row = read_object(line) or {}
    key, response, error = row.get("custom_id"), row.get("response"), row.get("error")
    if not isinstance(key, str):
        return None
    if isinstance(error, dict) and error.get("code") == _EXPIRED:
        return Outcome(key=key, kind="expired", problem=_EXPIRED)
    if isinstance(response, dict) and not error:
        return _answer(key, response.get("status_code"), response.get("body"), api_key)
    return Outcome(key=key, kind="failed", problem=_shown(error or response, api_key))


def _answer(key: str, status: object, body: object, api_key: str | None) -> Outcome:
    """Return what became of a request to which the model's server answered."""
    if status == _OK and isinstance(body, dict):
        return Outcome(key=key, kind="answered", body=body)
    code = status if isinstance(status, int) and 100 <= status < 600 and status != _OK else 500
    failure = RequestError(code, _shown(body, api_key))
    return Outcome(
        key=key,
        kind="failed" if failure.kind == "transient" else "refused",
        problem=f"{failure.status}: {failure.message}",
    )


def _shown(problem: object, api_key: str | None) -> str:
    return without_secrets_in(str(problem), api_key)[:_MAX_MESSAGE]


class Room(NamedTuple):
    """The most that a batch may take: requests, tokens and US dollars."""

    requests: int
    tokens: float = inf
    usd: float = inf


class Outgoing(NamedTuple):
    """The keys of a batch's requests, and the most that they may take; usd is None if unknown."""

    keys: list[str]
    tokens: int
    usd: float | None


def write_batch(
    file: Path,
    waiting: Iterable[WaitingRequest],
    room: Room,
    settings: LanguageModelSettings,
    as_body: "tuple[BatchMessages, ResponseFormat]",
) -> Outgoing:
    """Write requests to a file, a line each, as many as there is room for, but at least one.

    Args:
        file: The file.
        waiting: The requests.
        room: The most that they may take.
        settings: The model.
        as_body: Makes the requests' bodies, in this response format.
    """
    messages, form = as_body
    keys: list[str] = []
    tokens, usd, size, is_priced = 0, 0.0, 0, True
    with atomic_write(file) as partial, partial.open("wb") as stream:
        for request in waiting:
            question = question_of(request.question)
            limits, price = _most_of(question, settings)
            line = request_line(request.key, messages.body_of(question, form))
            tokens, usd, size = tokens + limits.total, usd + (price or 0.0), size + len(line)
            fits = tokens <= room.tokens and usd <= room.usd and size <= MAX_BYTES
            if keys and not (fits and len(keys) < room.requests):
                tokens, usd = tokens - limits.total, usd - (price or 0.0)
                break
            stream.write(line)
            keys.append(request.key)
            is_priced = is_priced and price is not None
    return Outgoing(keys, tokens, usd if is_priced else None)


def most_of(
    requests: Iterable[WaitingRequest], settings: LanguageModelSettings
) -> tuple[int, float | None]:
    """Return the most tokens and US dollars that requests may take; None for no known price."""
    mosts = [_most_of(question_of(request.question), settings) for request in requests]
    prices = [price for _, price in mosts if price is not None]
    usd = sum(prices) if len(prices) == len(mosts) else None
    return sum(limits.total for limits, _ in mosts), usd


def _most_of(
    question: Question, settings: LanguageModelSettings
) -> tuple[TokenLimits, float | None]:
    limits = token_limits(question, settings.max_tokens)
    return limits, batch_price(settings.model, limits)


@dataclass
class Incoming:
    """What became of a batch's requests; those that expired are in no list.

    Attributes:
        replies: Keys and replies, as the journal keeps them.
        failed: Keys that another batch may answer, if it is not one too many.
        refused: Keys that no batch can answer.
        tokens: Tokens that the replies took, as far as they tell it.
        usd: What these cost, None where a price is unknown.
        uncounted: Keys that were answered, and may be billed, but do not tell what they took.
        missing: Keys of which the files say nothing.
        strange: Lines that are unreadable, or of requests that were not in the batch.
        problem: Why the last request failed.
    """

    replies: list[tuple[bytes, bytes]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    tokens: float = 0
    usd: float | None = 0.0
    uncounted: list[str] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)
    strange: int = 0
    problem: str = ""


def read_results(files: Sequence[Path], keys: set[str], messages: BatchMessages) -> Incoming:
    """Return what the files of a batch hold; of several outcomes of a request the first counts.

    Args:
        files: The files of replies and errors.
        keys: The batch's requests.
        messages: Reads the replies.
    """
    incoming = Incoming(missing=set(keys))
    repeated = 0
    for outcome in chain.from_iterable(outcomes_of(file, keys, messages.key) for file in files):
        if outcome is None:
            incoming.strange += 1
        elif outcome.key in incoming.missing:
            incoming.missing.remove(outcome.key)
            _count(outcome, incoming, messages)
        else:
            repeated += 1
    if incoming.strange:
        _log.warning(
            "%s lines of a batch's results are unreadable or of requests that were not in it: they "
            "are left out", f"{incoming.strange:,}",
        )  # fmt: skip
    if repeated:
        _log.warning("%s requests have several results: the first counts", f"{repeated:,}")
    return incoming


def _count(outcome: Outcome, incoming: Incoming, messages: BatchMessages) -> None:
    try:
        reply = None if outcome.body is None else messages.reply_of(outcome.body)
    except ValueError:
        reply = None
    if reply is None:
        _count_failure(outcome, incoming)
        return
    incoming.replies += kept([(outcome.key, reply)])
    if not reply.is_counted:
        incoming.uncounted.append(outcome.key)
        return
    incoming.tokens += reply.tokens
    unknown = incoming.usd is None or reply.cost_usd is None
    incoming.usd = None if unknown else (incoming.usd or 0.0) + (reply.cost_usd or 0.0)


def _count_failure(outcome: Outcome, incoming: Incoming) -> None:
    if outcome.kind == "refused":
        incoming.refused.append(outcome.key)
    elif outcome.kind != "expired":
        incoming.failed.append(outcome.key)
        if outcome.kind == "answered":  # by something else than a completion
            incoming.uncounted.append(outcome.key)
    incoming.problem = outcome.problem or "no completion"
