"""The opcodes of pickles that stand for plain values, with their arguments."""

import pickletools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple, NoReturn

from infra.errors import SourceError
from tasks.files.text import printable

MOST_BYTES = 1 << 27  # of a text, and of the items that a pickler writes at once
_LONGEST_LINE = 1 << 24  # of protocol 0

_NAMES = {opcode.code.encode("latin-1"): opcode.name for opcode in pickletools.opcodes}


def _codes(*names: str) -> list[bytes]:
    code_of = {name: code for code, name in _NAMES.items()}
    return [code_of[name] for name in names]


_FIXED: Mapping[bytes, int] = {  # opcode → bytes of its argument
    **dict.fromkeys(_codes("MARK", "STOP", "NONE", "NEWTRUE", "NEWFALSE", "MEMOIZE"), 0),
    **dict.fromkeys(_codes("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE", "EMPTY_SET"), 0),
    **dict.fromkeys(_codes("LIST", "DICT", "TUPLE", "FROZENSET"), 0),
    **dict.fromkeys(_codes("TUPLE1", "TUPLE2", "TUPLE3"), 0),
    **dict.fromkeys(_codes("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS"), 0),
    **dict.fromkeys(_codes("PROTO", "BININT1", "BINGET", "BINPUT"), 1),
    **dict.fromkeys(_codes("BININT2"), 2),
    **dict.fromkeys(_codes("BININT", "LONG_BINGET", "LONG_BINPUT"), 4),
    **dict.fromkeys(_codes("BINFLOAT", "FRAME"), 8),
}
_SIZED: Mapping[bytes, int] = {  # opcode → bytes of the length that goes before its argument
    **dict.fromkeys(_codes("SHORT_BINUNICODE", "SHORT_BINSTRING", "SHORT_BINBYTES", "LONG1"), 1),
    **dict.fromkeys(_codes("BINUNICODE", "BINSTRING", "BINBYTES", "LONG4"), 4),
    **dict.fromkeys(_codes("BINUNICODE8", "BINBYTES8"), 8),
}
_LINES = frozenset(_codes("UNICODE", "STRING", "INT", "LONG", "FLOAT", "GET", "PUT"))


class Opcode(NamedTuple):
    """An opcode by name, its argument as it stands in the file, and where both begin."""

    name: str
    argument: bytes
    position: int
    argument_at: int


def refuse(file: Path, position: int, problem: str) -> NoReturn:
    """Raise a `SourceError` about a place of a pickle."""
    raise SourceError(f"{printable(file)}: byte {position:,}: {problem}")


def read_opcodes(file: Path, stream: IO[bytes]) -> Iterator[Opcode]:
    """Yield the opcodes of a pickle from its beginning to its end, which is the file's end too.

    Args:
        file: Its name, for messages.
        stream: Its bytes.

    Raises:
        SourceError: An opcode stands for something else than a plain value, the file is cut short,
            an argument is too long, or bytes follow the end.
    """
    position, code = 0, b""
    while code != b".":
        code = stream.read(1)
        size = _FIXED.get(code, -1)
        start = position + 1
        if size >= 0:
            argument = stream.read(size) if size else b""
        elif width := _SIZED.get(code):
            size = int.from_bytes(_whole(file, position, stream.read(width), width), "little")
            start += width
            argument = _text(file, position, stream, size)
        elif code in _LINES:
            argument = stream.readline(_LONGEST_LINE)
            size = len(argument) + (not argument.endswith(b"\n"))
        else:
            _refuse_opcode(file, position, code)
        yield Opcode(_NAMES[code], _whole(file, position, argument, size), position, start)
        position = start + size
    if stream.read(1):
        refuse(file, position, "bytes follow the end of the pickle: this is no file of one value")


def _text(file: Path, position: int, stream: IO[bytes], size: int) -> bytes:
    if size > MOST_BYTES:
        refuse(file, position, f"a value of {size:,} bytes is over the limit of {MOST_BYTES:,}")
    return stream.read(size)


def _whole(file: Path, position: int, argument: bytes, size: int) -> bytes:
    if len(argument) < size:
        refuse(file, position, "the pickle is cut short or has too long a line: copy it again")
    return argument


def _refuse_opcode(file: Path, position: int, code: bytes) -> NoReturn:
    if not code:
        refuse(file, position, "the pickle is cut short: copy it again")
    name = _NAMES.get(code, code.hex())
    refuse(
        file,
        position,
        f"opcode {name} is refused: it can do more than make lists, dictionaries, text and "
        "numbers, so this file could run code; nothing of it was run",
    )
