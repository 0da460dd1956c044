"""Incoming results of a batch: its replies are kept, what else became of requests is counted."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agents.llm.batch.lines import Outcome, outcomes_of
from agents.llm.batch.messages import BatchMessages
from agents.llm.cache import RawReply, ReplyCache

_KEPT_TOGETHER = 1_000

_log = logging.getLogger(__name__)


@dataclass
class Incoming:
    """What became of a batch's requests; those that expired are in no list.

    Attributes:
        answered: Keys whose replies are kept.
        failed: Keys that another batch may answer, if it is not one too many.
        refused: Keys that no batch can answer.
        tokens: Tokens that the replies took, as far as they tell it.
        usd: What these cost, None where a price is unknown.
        uncounted: Keys that were answered, and may be billed, but do not tell what they took.
        missing: Keys of which the files say nothing.
        problem: Why the last request failed.
    """

    answered: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    tokens: float = 0
    usd: float | None = 0.0
    uncounted: list[str] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)
    problem: str = ""


def read_results(
    files: Sequence[Path],
    keys: set[str],
    messages: BatchMessages,
    cache: ReplyCache,
) -> Incoming:
    """Keep the replies in a batch's files; of several outcomes of a request the first counts.

    Args:
        files: The files of replies and errors.
        keys: The batch's requests.
        messages: Reads the replies.
        cache: Keeps them.

    Raises:
        UnrecordableError: A reply cannot be kept.
    """
    incoming = Incoming(missing=set(keys))
    replies: list[tuple[str, RawReply]] = []
    for outcome in _first_of_each(files, incoming.missing, messages.key):
        reply = _reply_of(outcome, messages)
        if reply is None:
            _count_failure(outcome, incoming)
            continue
        replies.append((outcome.key, reply))
        _count_bill(outcome.key, reply, incoming)
        if len(replies) == _KEPT_TOGETHER:
            _keep(replies, cache, incoming)
    _keep(replies, cache, incoming)
    return incoming


def kept_and_lost(keys: set[str], cache: ReplyCache) -> tuple[list[str], list[str]]:
    """Return the keys whose replies are kept, as by a run that was killed then, and the others."""
    kept = {key for key in keys if cache.find(key)}
    return sorted(kept), sorted(keys - kept)


def _first_of_each(
    files: Sequence[Path], missing: set[str], api_key: str | None
) -> Iterable[Outcome]:
    """Yield the first outcome of each request, which is then no longer missing."""
    keys = frozenset(missing)
    repeated = 0
    for file in files:
        for outcome in outcomes_of(file, keys, api_key):
            if outcome.key in missing:
                missing.remove(outcome.key)
                yield outcome
            else:
                repeated += 1
    if repeated:
        _log.warning("%s requests have several results: the first counts", f"{repeated:,}")


def _reply_of(outcome: Outcome, messages: BatchMessages) -> RawReply | None:
    if outcome.body is None:
        return None
    try:
        return messages.reply_of(outcome.body)
    except ValueError:
        return None


def _count_bill(key: str, reply: RawReply, incoming: Incoming) -> None:
    if not reply.is_counted:
        incoming.uncounted.append(key)
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


def _keep(replies: list[tuple[str, RawReply]], cache: ReplyCache, incoming: Incoming) -> None:
    cache.keep_all(replies)
    incoming.answered += [key for key, _ in replies]
    replies.clear()
