"""The values of opcodes that stand for text, bytes, numbers, booleans and None."""

import ast
import struct
from collections.abc import Callable

_LONGEST_NUMBER = 128  # bytes


def number_of(name: str, argument: bytes) -> int:
    """Return a whole number of any opcode."""
    if name in ("INT", "LONG", "GET", "PUT"):
        if len(argument) > _LONGEST_NUMBER:
            raise ValueError("a number of too many digits")
        return int(argument.rstrip(b"L\r\n"))
    if len(argument) > _LONGEST_NUMBER:
        raise ValueError("a number of too many bytes")
    return int.from_bytes(argument, "little", signed=name in ("BININT", "LONG1", "LONG4"))


def _whole_number(name: str) -> Callable[[bytes], int]:
    return lambda argument: number_of(name, argument)


def _int(argument: bytes) -> int:
    """Return the value of opcode INT, which writes booleans too."""
    truth = {b"00": False, b"01": True}
    line = argument.rstrip()
    return truth[line] if line in truth else number_of("INT", argument)


def text_of(name: str, argument: bytes) -> str | bytes:
    """Return a text; Python 2's strings are taken for UTF-8, and what is no character for a ``?``.

    Raises:
        ValueError: It is no text of its opcode's kind.
    """
    if name in ("SHORT_BINBYTES", "BINBYTES", "BINBYTES8"):
        return argument
    if name == "STRING":
        argument = ast.literal_eval(f"b{argument.decode('ascii').strip()}")
    if name in ("STRING", "SHORT_BINSTRING", "BINSTRING"):
        return argument.decode(errors="replace")
    if name == "UNICODE":
        return _characters(argument.removesuffix(b"\n").decode("raw-unicode-escape"))
    try:
        return argument.decode()
    except UnicodeDecodeError:  # halves of surrogate pairs, which Python writes like characters
        return _characters(argument.decode(errors="surrogatepass"))


def _characters(text: str) -> str:
    return text.encode(errors="replace").decode()


TEXTS = frozenset(
    {
        *("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"),
        *("STRING", "SHORT_BINSTRING", "BINSTRING"),
        *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8"),
    }
)
SCALARS: dict[str, Callable[[bytes], object]] = {
    "NONE": lambda _: None,
    "NEWTRUE": lambda _: True,
    "NEWFALSE": lambda _: False,
    "INT": _int,
    "FLOAT": float,
    "BINFLOAT": lambda argument: struct.unpack(">d", argument)[0],
    **{
        name: _whole_number(name)
        for name in ("BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4")
    },
}
