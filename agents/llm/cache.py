"""The cache of replies on disk, so that no reply is paid for twice.

A reply's key is the hash of the request: model, messages, schema, sampling, attempt and
labelling round. The
server's address and the API key are no part of it.
"""

import logging
import math
import os
import tempfile
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ValidationError

from infra.errors import BudgetExhaustedError, StoreError
from infra.records import Record

_MAX_TOKENS = 10**9  # of one call; a provider that reports more is not believed
_MAX_COST_USD = 10**5

_log = logging.getLogger(__name__)


def valid_unicode(text: str) -> str:
    """Return text with lone surrogates replaced: no file, database or request can hold them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _plausible_count(value: object) -> int | None:
    """Return a number of tokens, None for what cannot be one (negative, fractional, absurd)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    is_plausible = 0 <= value <= _MAX_TOKENS and value == int(value)
    return int(value) if is_plausible else None


def _plausible_cost(value: object) -> float | None:
    """Return a price in US dollars, None for what cannot be one (negative, absurd, no number)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= _MAX_COST_USD else None


def _plausible_seconds(value: object) -> float:
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return max(0.0, float(value)) if is_number else 0.0  # type: ignore[arg-type]


Count = Annotated[int | None, BeforeValidator(_plausible_count)]


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


class ReplyCache:
    """Replies as files ``ab/cdef….json`` below a folder that many processes share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, key: str) -> RawReply | None:
        """Return the reply of that key, or None.

        A file that cannot be read is moved aside, with a warning, and counts as absent.

        Raises:
            StoreError: Such a file cannot be moved aside.
        """
        file = self._file(key)
        try:
            return RawReply.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            self._move_aside(file, error)
            return None

    def keep(self, key: str, reply: RawReply) -> None:
        """Write a reply whole or not at all; on return it survives a loss of power.

        Raises:
            BudgetExhaustedError: It cannot be written: what is paid for would be lost, so that the
                run must stop.
        """
        try:
            self._write(self._file(key), reply.model_dump_json().encode())
        except OSError as error:
            raise BudgetExhaustedError(
                f"a reply that was paid for cannot be kept in {self._folder} ({error}): make room "
                "there or make the folder writable, then run the same command again"
            ) from error

    def _write(self, file: Path, content: bytes) -> None:
        if not file.parent.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            _sync_folder(file.parent.parent)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".part")
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
        _sync_folder(file.parent)

    def _move_aside(self, file: Path, error: Exception) -> None:
        aside = file.with_suffix(".unreadable")
        problem = str(error).splitlines()[0]
        try:
            file.replace(aside)
        except OSError as failure:
            raise StoreError(
                f"the kept reply {file} cannot be read ({problem}) nor moved aside ({failure}): "
                "remove it by hand"
            ) from error
        _log.warning(
            "the kept reply %s cannot be read (%s): it is moved to %s and will be requested again",
            file, problem, aside.name,
        )  # fmt: skip

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key[2:]}.json"


def _sync_folder(folder: Path) -> None:
    """Write a folder's entries to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
