"""Pickles of plain values, read without the power to run anything.

`pickle.load` calls whatever a file names. Here Python's own reader has the opcodes alone that make
lists, tuples, dictionaries, sets, text, bytes, numbers, booleans and None, of protocols 0 to 5; all
others, which import, call, set state or look something up, are refused.

Files may be larger than memory: entries are yielded as they come, and of the values that a file
refers to again (the pickler's memo) only text and numbers are kept, each until its last use; a
first reading counts the uses. References to containers are refused: with them a small file could
stand for a cycle, or for a tree that grows exponentially. The reader in C, even one that finds no
class, holds a file whole, and takes such references.
"""

import pickle
import pickletools
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, ClassVar, NoReturn

from infra.errors import SourceError
from tasks.inputs.text import printable, regular

_DEEPEST = 50  # containers in one another
_MOST_BYTES = 1 << 27  # of the items that a pickler writes at once, which are at most 1,000
_MOST_OPCODES = 5_000_000  # for them
_LONGEST_LINE = 1 << 24  # of protocol 0
_LONGEST_NUMBER = 1_024  # bits
_MOST_USED_AGAIN = 4_000_000  # values that are referred to again
_MOST_KEPT_TEXT = 1 << 30  # of the values that are kept at once

_BROKEN = (
    *(AttributeError, IndexError, KeyError, TypeError, ValueError, struct.error),
    *(pickle.UnpicklingError, MemoryError, RecursionError),
)
_NAMES = (
    "MARK PROTO FRAME NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT "
    "BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 "
    "BINBYTES SHORT_BINBYTES BINBYTES8 EMPTY_LIST EMPTY_TUPLE EMPTY_DICT EMPTY_SET LIST DICT TUPLE "
    "TUPLE1 TUPLE2 TUPLE3 FROZENSET APPEND APPENDS SETITEM SETITEMS ADDITEMS GET BINGET "
    "LONG_BINGET PUT BINPUT LONG_BINPUT MEMOIZE"
)
_PLAIN = frozenset(_NAMES.split())
_NAME_OF = {ord(opcode.code): opcode.name for opcode in pickletools.opcodes}
_GROWS = pickle.APPEND + pickle.APPENDS + pickle.SETITEM + pickle.SETITEMS
_TUPLES = pickle.TUPLE + pickle.TUPLE1 + pickle.TUPLE2 + pickle.TUPLE3 + pickle.FROZENSET
_Outermost = type[list[Any]] | type[dict[Any, Any]]
_CONTAINERS = (list, tuple, dict, set, frozenset)


class _Refused(Exception):  # noqa: N818 - what a pickle holds is not read
    pass


def pickled_items(file: Path) -> Iterator[Any]:
    """Yield the items of a pickled list as they are read.

    Raises:
        SourceError: The file is missing, is no pickle of a list, could run code, or is damaged; the
            message names the byte.
    """
    return _entries(file, list)


def pickled_pairs(file: Path) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of key and value of a pickled dictionary as they are read.

    Raises:
        SourceError: See `pickled_items`.
    """
    return _entries(file, dict)


def _entries(file: Path, outermost: _Outermost) -> Iterator[Any]:
    try:
        with regular(file).open("rb") as stream:
            try:
                uses = _Uses()
                for _ in _Reader(stream, uses).entries(outermost):
                    pass
                stream.seek(0)
                yield from map(_clean, _Reader(stream, _Memo(uses.times)).entries(outermost))
            except _Refused as error:
                _refuse(file, stream, str(error))
            except _BROKEN as error:
                _refuse(file, stream, f"the pickle is damaged: {error}")
    except OSError as error:
        raise SourceError(f"{printable(file)} cannot be read: {error.strerror}") from None


def _refuse(file: Path, stream: IO[bytes], problem: str) -> NoReturn:
    raise SourceError(f"{printable(file)}: byte {stream.tell():,}: {problem}") from None


def _clean(value: Any, room: int = _DEEPEST) -> Any:  # noqa: ANN401 - any plain value
    """Return a value in which what is no character, as half a surrogate pair, is a ``?``.

    Raises:
        _Refused: It is nested too deep, or a number in it too long.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER:
        raise _Refused("a number of too many digits")
    if not isinstance(value, _CONTAINERS):
        return value
    if not room:
        raise _Refused(f"nested more than {_DEEPEST} deep")
    if isinstance(value, dict):
        return {_clean(key, room - 1): _clean(item, room - 1) for key, item in value.items()}
    return type(value)([_clean(item, room - 1) for item in value])


class _Uses:
    """The memo of a first reading: how often each value is referred to again."""

    def __init__(self) -> None:
        self.times: dict[int, int] = {}

    def __len__(self) -> int:
        return 0

    def __setitem__(self, number: int, value: object) -> None:
        pass

    def __getitem__(self, number: int) -> None:
        self.times[number] = self.times.get(number, 0) + 1
        if len(self.times) > _MOST_USED_AGAIN:
            raise _Refused(f"more than {_MOST_USED_AGAIN:,} values are referred to again")


class _Memo:
    """The memo of a second reading: text and numbers until their last use."""

    def __init__(self, uses: dict[int, int]) -> None:
        self._uses = uses
        self._values: dict[int, object] = {}
        self._text = 0
        self._puts = 0

    def __len__(self) -> int:
        return self._puts

    def __setitem__(self, number: int, value: object) -> None:
        self._puts += 1
        if number in self._uses and not isinstance(value, _CONTAINERS):
            self._text += _length(value) - _length(self._values.get(number))
            self._values[number] = value
            if self._text > _MOST_KEPT_TEXT:
                raise _Refused("too much text is referred to again: write each text out")

    def __getitem__(self, number: int) -> object:
        if number not in self._values:
            raise _Refused(
                "a container is referred to again, or what is nowhere: such references can make "
                "endless values; write each value out"
            )
        value = self._values[number]
        self._uses[number] -= 1
        if not self._uses[number]:
            del self._values[number]
            self._text -= _length(value)
        return value


def _length(value: object) -> int:
    return len(value) if isinstance(value, str | bytes) else 0


class _Reader(pickle._Unpickler):  # noqa: SLF001 - that of C can neither stream nor drop opcodes
    """Python's own reader of pickles, without the opcodes that do more than make plain values.

    Python 2's strings are taken for UTF-8.
    """

    dispatch: ClassVar[dict[int, Any]] = {
        code: pickle._Unpickler.dispatch[code]  # noqa: SLF001
        for code, name in _NAME_OF.items()
        if name in _PLAIN
    } | {pickle.FRAME[0]: lambda reader: reader.read(8)}

    def __init__(self, stream: IO[bytes], memo: _Uses | _Memo) -> None:
        super().__init__(stream, encoding="utf-8", errors="replace")
        self._stream = stream
        self.memo = memo
        self.stack: list[Any] = []  # since the last mark
        self.metastack: list[list[Any]] = []
        self.append = self.stack.append
        self._room = _MOST_BYTES

    def read(self, size: int) -> bytes:
        """Return so many bytes of the file, whatever length it names."""
        self._room -= size
        if self._room < 0:
            raise _Refused(f"an item of over {_MOST_BYTES:,} bytes: this is no table of texts")
        content = self._stream.read(size)
        if len(content) < size:
            raise _Refused("the pickle is cut short: copy it again")
        return content

    def readline(self) -> bytes:
        """Return a line of the file."""
        line = self._stream.readline(_LONGEST_LINE)
        self._room -= len(line)
        if not line.endswith(b"\n") or self._room < 0:
            raise _Refused("the pickle is cut short or has too long a line: copy it again")
        return line

    def entries(self, outermost: _Outermost) -> Iterator[Any]:
        """Yield the items or pairs of the outermost container as they come, and forget them."""
        opcodes = 0
        while (code := self.read(1)) != pickle.STOP:
            if code[0] not in self.dispatch:
                raise _Refused(
                    f"opcode {_NAME_OF.get(code[0], code.hex())} is refused: it can do more than "
                    "make lists, dictionaries, text and numbers, so this file could run code; "
                    "nothing of it was run"
                )
            self.dispatch[code[0]](self)
            if code in _TUPLES:
                _clean(self.stack[-1])  # to make a key of a deep one would fill the stack of C
            opcodes += 1
            if code in _GROWS and len(self.stack) == 1 and not self.metastack:
                yield from self._taken(outermost)
                opcodes, self._room = 0, _MOST_BYTES
            elif opcodes > _MOST_OPCODES:
                raise _Refused("an item is too large: this is no table of texts")
        if len(self.stack) != 1 or self.metastack:
            raise _Refused("the pickle is damaged: values are left over")
        yield from self._taken(outermost)
        if self._stream.read(1):
            raise _Refused("bytes follow the end of the pickle: this is no file of one value")

    def _taken(self, outermost: _Outermost) -> list[Any]:
        outer: Any = self.stack[0]
        if not isinstance(outer, outermost):
            raise _Refused(f"this is a {type(outer).__name__}, no {outermost.__name__}")
        entries: list[Any] = list(outer.items() if isinstance(outer, dict) else outer)
        outer.clear()
        return entries
