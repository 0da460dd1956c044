"""Small files of numbers that processes share: whole or refused, never read as something else."""

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, dataclass
from math import isfinite
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Generic, TypeVar

from infra.atomic import sync
from infra.locks import locked

_MAGIC = b"cosqa-2\n"
_CHECK = struct.Struct("<I")
_SUMS = ("tokens", "usd", "unpriced")


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
_LAYOUTS = {Money: struct.Struct("<8s5d8x"), Pace: struct.Struct("<8s3d")}


class Ledger(Generic[Numbers]):
    """Numbers of one kind in a file under a lock.

    Args:
        file: The file; made where it lacks.
        kind: What it holds.
    """

    def __init__(self, file: Path, kind: type[Numbers]) -> None:
        self.file = file
        self._kind: type[Numbers] = kind
        self._most = _LAYOUTS[kind].size + _CHECK.size

    @contextmanager
    def opened(self, *, durable: bool = False) -> Iterator[Numbers]:
        """Yield the numbers, to be changed, with every other process locked out meanwhile.

        Args:
            durable: Whether what is written is to survive a loss of power.

        Raises:
            DamagedLedgerError: The file holds something else than numbers that can be true.
            OSError: It cannot be read or written.
        """
        if not self.file.exists():
            self._make()
        with locked(self.file) as handle:
            content = os.pread(handle, self._most + 1, 0)
            try:
                numbers = _read(content, self._kind)
            except DamagedLedgerError as error:
                raise DamagedLedgerError(f"{self.file}: {error}") from None
            yield numbers
            changed = _written(numbers)
            if changed != content:
                _write(handle, changed)
                if durable:
                    os.fdatasync(handle)

    def _make(self) -> None:
        """Make the file, whole from its first moment: an empty one has lost what it said."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=self.file.parent) as new, suppress(FileExistsError):
            new.write(_written(self._kind()))
            new.flush()
            os.fsync(new.fileno())
            os.link(new.name, self.file)
            sync(self.file.parent)


def merge(present: Path, copy: Path, *, is_same: bool, has_its_batches: bool) -> None:
    """Put what a store has spent into the copy of a backup that takes its place.

    Of one store the larger numbers count, as spending only grows; that is too much where less was
    taken since than was reserved then. A file that is empty or damaged changes no other one.

    Args:
        present: The ledger of the store.
        copy: That of the backup; made where it lacks.
        is_same: Whether both are of one store; else what they have spent is added up.
        has_its_batches: Whether the batches beside the copy are the store's, not the backup's.

    Raises:
        OSError: One cannot be read or written.
    """
    with locked(present, shared=True), locked(copy) as handle:
        before, since = copy.read_bytes(), present.read_bytes()
        then, now = _any_in(before), _any_in(since)
        if then is None or (now is not None and type(then) is not type(now)):
            content = since or before
        elif now is None:
            content = before
        else:
            content = _written(_merged(then, now, is_same=is_same, of_now=has_its_batches))
        os.ftruncate(handle, 0)
        _write(handle, content)
        os.fsync(handle)


def _merged(then: Money | Pace, now: Money | Pace, *, is_same: bool, of_now: bool) -> Money | Pace:
    """Return the numbers of two ledgers as one; the last batch is that of one of them."""
    one, other = asdict(then), asdict(now)
    numbers = {
        name: one[name] + number if name in _SUMS and not is_same else max(one[name], number)
        for name, number in other.items()
    }
    if isinstance(now, Money):
        numbers["change"] = (other if of_now else one)["change"]
    return type(now)(**numbers)


def _any_in(content: bytes) -> Money | Pace | None:
    """Return the numbers in a file of any kind, None where it is empty or damaged."""
    with suppress(DamagedLedgerError):
        return _read(content, Money)
    with suppress(DamagedLedgerError):
        return _read(content, Pace)
    return None


def _read(content: bytes, kind: type[Numbers]) -> Numbers:
    packed, check = content[: -_CHECK.size], content[-_CHECK.size :]
    if len(packed) != _LAYOUTS[kind].size or _checksum(packed) != check:
        raise DamagedLedgerError(f"{len(content)} bytes that were not written so")
    magic, *values = _LAYOUTS[kind].unpack(packed)
    if magic != _MAGIC or not all(isfinite(value) and value >= 0 for value in values):
        raise DamagedLedgerError("numbers that cannot be true")
    return kind(*values)


def _written(numbers: Money | Pace) -> bytes:
    packed = _LAYOUTS[type(numbers)].pack(_MAGIC, *astuple(numbers))
    return packed + _checksum(packed)


def _write(handle: int, content: bytes) -> None:
    written = os.pwrite(handle, content, 0)
    if written != len(content):
        raise OSError(f"only {written} of {len(content)} bytes were written")


def _checksum(packed: bytes) -> bytes:
    return _CHECK.pack(zlib.crc32(packed))
