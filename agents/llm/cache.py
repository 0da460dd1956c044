"""The cache of replies on disk, so that no reply is paid for twice.

A reply's key is the hash of the request: model, messages, schema, sampling, attempt and labelling
round. The server's address and the API key are no part of it. Keys of earlier releases were
shorter: a reply that was kept under the beginning of a key is found, too.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ValidationError

from infra.disk import OTHER_STORE, free_bytes
from infra.errors import StoreError, UnrecordableError
from infra.key_locks import Claims
from infra.packed import PackedStore
from infra.records import Record

_MAX_TOKENS = 10**9  # of one call; a provider that reports more is not believed
_MAX_COST_USD = 10**5
_RESERVE_MB = 64  # what replies in flight may take on the disk

_log = logging.getLogger(__name__)


def valid_unicode(text: str) -> str:
    """Return text with lone surrogates replaced: no file, database or request can hold them.

    Raises:
        ValueError: It is no text.
    """
    if not isinstance(text, str):  # a kept reply may hold anything
        raise ValueError(f"{type(text).__name__} in place of text")  # noqa: TRY004 - for pydantic
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


def _plausible_seconds(value: object) -> float:
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return max(0.0, float(value)) if is_number else 0.0  # type: ignore[arg-type]


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

    text: Annotated[str, BeforeValidator(valid_unicode)]
    prompt_tokens: Count = None
    completion_tokens: Count = None
    cost_usd: Annotated[float | None, BeforeValidator(_plausible_cost)] = None
    seconds: Annotated[float, BeforeValidator(_plausible_seconds)] = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion together, 0 where neither was counted."""
        return (self.prompt_tokens or 0) + (self.completion_tokens or 0)

    @property
    def is_counted(self) -> bool:
        """Whether the tokens of both are known."""
        return self.prompt_tokens is not None and self.completion_tokens is not None


class ReplyCache:
    """Replies in one file of a folder that many processes share.

    Args:
        folder: The folder; made by the first reply.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._claims = Claims(folder / "asking.lock")
        self._packed = PackedStore(folder / "replies.sqlite")

    def find(self, key: str) -> RawReply | None:
        """Return the reply of that key, or None.

        Raises:
            StoreError: The replies cannot be read.
        """
        content = self._packed.find(key)
        if content is None:
            return None
        try:
            return RawReply.model_validate_json(content)
        except ValidationError as error:
            _log.warning("the kept reply %s is no reply (%s): it will be requested again",
                         key, _first_line(error))  # fmt: skip
            return None

    @asynccontextmanager
    async def claimed(self, keys: Iterable[str]) -> AsyncIterator[None]:
        """Hold the right to request replies; once it is held, others may have kept them.

        Raises:
            StoreError: The folder cannot be written to.
            UnrecordableError: The disk may have no room for what would be paid for.
        """
        async with self._claims.on(keys):
            self.require_room()
            yield

    def require_room(self) -> None:
        """Check that replies to requests which are sent now can be kept.

        Raises:
            UnrecordableError: The disk may have no room for them, so that the run must stop.
        """
        free_mb = free_bytes(self._folder) / 2**20
        if free_mb < _RESERVE_MB:
            raise UnrecordableError(
                f"the disk of {self._folder} has {free_mb:,.1f} MiB free, less than the "
                f"{_RESERVE_MB} MiB that replies in flight may take: nothing more is requested; "
                f"free some space or {OTHER_STORE}, then run the same command again"
            )

    def close(self) -> None:
        """Give up the rights that are held."""
        self._claims.close()

    async def keep_async(self, key: str, reply: RawReply) -> None:
        """Write a reply as `keep_all` does, on the disk together with others in flight."""
        with self._stopping_the_run():
            await asyncio.wrap_future(self._hand_over(key, reply))

    def keep_all(self, replies: Iterable[tuple[str, RawReply]]) -> None:
        """Write replies, each whole or not at all; on return they survive a loss of power.

        Raises:
            UnrecordableError: One cannot be written: what is paid for would be lost, so that the
                run must stop.
        """
        with self._stopping_the_run():
            for written in [self._hand_over(key, reply) for key, reply in replies]:
                written.result()

    def _hand_over(self, key: str, reply: RawReply) -> "Future[None]":
        return self._packed.keep_soon(key, reply.model_dump_json().encode())

    @contextmanager
    def _stopping_the_run(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            raise UnrecordableError(
                f"a reply that was paid for cannot be kept in {self._folder}: {error}"
            ) from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
