"""Outgoing batches: as many of the requests that wait as one may hold and the budget allows."""

from collections.abc import Iterable
from math import inf
from pathlib import Path
from typing import NamedTuple

from agents.llm.batch.lines import request_line
from agents.llm.batch.messages import BatchMessages, question_of
from agents.llm.batch.prices import batch_price
from agents.llm.batch.records import WaitingRequest
from agents.llm.budget import TokenLimits
from agents.llm.question import Question, token_limits
from agents.llm.structured_output import ResponseFormat
from infra.atomic import atomic_write
from infra.settings import LanguageModelSettings

MAX_BYTES = 200 * 10**6  # of a batch's file; OpenAI's limit


class Room(NamedTuple):
    """The most that a batch may take: requests, tokens and US dollars."""

    requests: int
    tokens: float = inf
    usd: float = inf


class Allowance(NamedTuple):
    """What people allow: whether to submit at all, and another budget than the settings'."""

    is_paused: bool = False
    budget_usd: float | None = None


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
