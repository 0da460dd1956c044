"""Small files of numbers that processes share: whole or refused, never read as something else."""

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Generic, TypeVar

from infra.atomic import sync
from infra.locks import locked

_MAGIC = b"cosqa-2\n"
_CHECK = struct.Struct("<I")
_ROUNDING = 1e-9  # by which a former version's sums may be below nought
_FORMER = struct.Struct("<7d")  # last turn, next token, tokens, US dollars, dearest, unpriced, mean


class DamagedLedgerError(Exception):
    """A file holds something else than was written."""


@dataclass
class Money:
    """What was spent on a model, by all keys and addresses.

    Attributes:
        tokens: Spent and reserved.
        usd: Spent and reserved.
        max_request_usd: Price of the most expensive request so far.
        unpriced: Requests of unknown price.
        change: Number of the last change by a batch, by which a run that was killed in the midst
            of one knows whether it was made; 0 for none.
    """

    tokens: float = 0.0
    usd: float = 0.0
    max_request_usd: float = 0.0
    unpriced: float = 0.0
    change: float = 0.0


@dataclass
class Pace:
    """When the next request may be sent with a key.

    Attributes:
        last_turn: Moment at which the last request was allowed, in seconds since 1970.
        next_token: Moment from which the limit of tokens allows one.
        expected_tokens: Smoothed mean of what requests took.
    """

    last_turn: float = 0.0
    next_token: float = 0.0
    expected_tokens: float = 0.0


Numbers = TypeVar("Numbers", bound=Money | Pace)


class Ledger(Generic[Numbers]):
    """Numbers of one kind in a file under a lock.

    Args:
        file: The file; made where it lacks.
        kind: What it holds.
    """

    def __init__(self, file: Path, kind: type[Numbers]) -> None:
        self.file = file
        self._kind: type[Numbers] = kind
        self._layout = struct.Struct(f"<{len(_MAGIC)}s{len(fields(kind))}d")
        self._shorter = struct.Struct(f"<{len(_MAGIC)}s{len(fields(kind)) - 1}d")

    @contextmanager
    def opened(self, *, durable: bool = False) -> Iterator[Numbers]:
        """Yield the numbers, to be changed, with every other process locked out meanwhile.

        Args:
            durable: Whether what is written is to survive a loss of power.

        Raises:
            DamagedLedgerError: The file holds something else than numbers that can be true.
            OSError: It cannot be read or written.
        """
        with locked(self.file) as handle:
            content = os.pread(handle, self._layout.size + _CHECK.size + 1, 0)
            try:
                numbers = self._read(content) if content else self._kind()
            except DamagedLedgerError as error:
                raise DamagedLedgerError(f"{self.file}: {error}") from None
            yield numbers
            changed = self._written(numbers)
            if changed != content:
                _write(handle, changed)
                if durable:
                    os.fdatasync(handle)
                    if not content:
                        sync(self.file.parent)

    def _read(self, content: bytes) -> Numbers:
        packed, check = content[: -_CHECK.size], content[-_CHECK.size :]
        layouts = self._layout, self._shorter  # a former version had no number of a change
        layout = next((one for one in layouts if one.size == len(packed)), None)
        if layout is None or _checksum(packed) != check:
            raise DamagedLedgerError(f"{len(content)} bytes that were not written so")
        magic, *values = layout.unpack(packed)
        if magic != _MAGIC or not all(isfinite(value) and value >= 0 for value in values):
            raise DamagedLedgerError("numbers that cannot be true")
        return self._kind(*values)

    def _written(self, numbers: Numbers) -> bytes:
        packed = self._layout.pack(_MAGIC, *astuple(numbers))
        return packed + _checksum(packed)


def take_over(former: Path, money: Money) -> bytes:
    """Add what a file of a former version has, beyond what was taken over of it before.

    Returns its content, for `note_taken_over` once the sum is written.

    Raises:
        DamagedLedgerError: The file holds something else than numbers that can be true.
    """
    content, before = former.read_bytes(), _marker(former)
    known = before.read_bytes() if before.is_file() else b""
    try:
        new, old = _former(content), _former(known)
    except DamagedLedgerError as error:
        raise DamagedLedgerError(f"{former}: {error}") from None
    money.tokens += max(0.0, new.tokens - old.tokens)
    money.usd += max(0.0, new.usd - old.usd)
    money.unpriced += max(0.0, new.unpriced - old.unpriced)
    money.max_request_usd = max(money.max_request_usd, new.max_request_usd)
    return content


def note_taken_over(former: Path, content: bytes) -> None:
    """Note that what a file of a former version had is in the sum."""
    _marker(former).write_bytes(content)


def _marker(former: Path) -> Path:
    return former.with_name(f"{former.name}.added")


def _former(content: bytes) -> Money:
    if not content:  # made, and not written to
        return Money()
    if len(content) != _FORMER.size:
        raise DamagedLedgerError(f"{len(content)} bytes instead of {_FORMER.size}")
    _, _, *values, _ = _FORMER.unpack(content)
    if not all(isfinite(value) and value >= -_ROUNDING for value in values):
        raise DamagedLedgerError("numbers that cannot be true")
    return Money(*(max(0.0, value) for value in values))


def _write(handle: int, content: bytes) -> None:
    written = os.pwrite(handle, content, 0)
    if written != len(content):
        raise OSError(f"only {written} of {len(content)} bytes were written")


def _checksum(packed: bytes) -> bytes:
    return _CHECK.pack(zlib.crc32(packed))
