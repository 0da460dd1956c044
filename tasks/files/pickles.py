"""Pickles of plain values, read without the power to run anything.

`pickle.load` calls whatever a file names. The reader here is a machine of its own, which knows
lists, tuples, dictionaries, sets, text, bytes, numbers, booleans and None, of protocols 0 to 5, and
refuses every opcode that imports, calls, sets state or looks something up.

Files may be larger than memory. Of the values that a file refers to again (the pickler's memo) only
text and numbers are kept, long texts as their places in the file; a first pass over the file finds
which these are. References to containers are refused: with them a small file could stand for a
cycle, or for a tree that grows exponentially.

Source: the machine that CPython's ``pickletools`` describes.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

from infra.errors import SourceError
from tasks.files.pickle_opcodes import MOST_BYTES, Opcode, read_opcodes, refuse
from tasks.files.pickle_values import SCALARS, TEXTS, number_of, text_of
from tasks.files.text import printable, regular

_DEEPEST = 50  # containers in one another
_MOST_OPCODES = 5_000_000  # for the items that a pickler writes at once, which are at most 1,000
_MOST_KEPT = 4_000_000  # values that are referred to again
_HIGHEST_REFERENCE = 1 << 30
_KEPT_TEXT = 64  # characters; longer ones are read again from the file
_HIGHEST_PROTOCOL = 5

_BROKEN = (IndexError, TypeError, ValueError, SyntaxError, KeyError, MemoryError, RecursionError)


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


def _entries(file: Path, outermost: type[list[Any]] | type[dict[Any, Any]]) -> Iterator[Any]:
    try:
        with regular(file).open("rb") as stream:
            references = _References.of(read_opcodes(file, stream))
        with file.open("rb") as stream:
            yield from _Machine(file, stream, references, outermost).entries()
    except OSError as error:
        raise SourceError(f"{printable(file)} cannot be read: {error.strerror}") from None


class _References:
    """The numbers of the values that a pickle refers to again, one bit each."""

    def __init__(self) -> None:
        self._bits = bytearray()

    @classmethod
    def of(cls, opcodes: Iterator[Opcode]) -> "_References":
        references = cls()
        for name, argument, _, _ in opcodes:
            if name in _GETS:
                with suppress(ValueError):  # the machine refuses it, with its place
                    references.add(number_of(name, argument))
        return references

    def add(self, number: int) -> None:
        if not 0 <= number < _HIGHEST_REFERENCE:
            raise ValueError(f"there is no value {number}")
        byte, bit = divmod(number, 8)
        if byte >= len(self._bits):
            self._bits.extend(bytes(byte + 1 - len(self._bits)))
        self._bits[byte] |= 1 << bit

    def __contains__(self, number: int) -> bool:
        byte, bit = divmod(number, 8)
        return 0 <= byte < len(self._bits) and bool(self._bits[byte] >> bit & 1)


class _Place(NamedTuple):
    """A text that is read from the file when it is needed: its opcode, offset and bytes."""

    name: str
    offset: int
    size: int


_CONTAINER = object()  # kept in place of a container


class _Machine:
    """The stack on which a pickle's values are made, and the values that it refers to again."""

    def __init__(
        self,
        file: Path,
        stream: IO[bytes],
        references: _References,
        outermost: type[list[Any]] | type[dict[Any, Any]],
    ) -> None:
        self._file = file
        self._stream = stream
        self._references = references
        self._outermost = outermost
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._memoised = 0
        self._levels: dict[int, int] = {}  # id of a container on the stack → containers in it
        self._last = Opcode("", b"", 0, 0)
        self._again = 0  # bytes of the texts read again since values were yielded

    def entries(self) -> Iterator[Any]:
        """Yield the items or pairs of the outermost container, and forget them."""
        first, opcodes = 0, 0
        for opcode in read_opcodes(self._file, self._stream):
            opcodes += 1
            try:
                self._run(opcode)
            except _BROKEN as error:
                self._refuse(opcode, f"the pickle is damaged: {error}")
            if opcode.name != "FRAME":  # which stands between a long text and what notes it
                self._last = opcode
            if opcode.name in _GROWS and len(self._stack) == 1:
                yield from self._taken(opcode)
                first, opcodes, self._again = opcode.position, 0, 0
            elif opcodes > _MOST_OPCODES or opcode.position - first + self._again > MOST_BYTES:
                self._refuse(opcode, "an item is too large: this is no table of texts")
        if len(self._stack) != 1 or self._marks:
            self._refuse(self._last, "the pickle is damaged: values are left over")
        yield from self._taken(self._last)

    def _taken(self, opcode: Opcode) -> list[Any]:
        outer: Any = self._stack[0]
        if not isinstance(outer, self._outermost):
            self._refuse(opcode, f"this is a {type(outer).__name__}, no {self._outermost.__name__}")
        entries: list[Any] = list(outer.items() if isinstance(outer, dict) else outer)
        outer.clear()
        self._levels[id(outer)] = 1
        return entries

    def _run(self, opcode: Opcode) -> None:
        name, argument, _, _ = opcode
        if maker := SCALARS.get(name):
            self._stack.append(maker(argument))
        elif name in TEXTS:
            self._stack.append(text_of(name, argument))
        elif action := _ACTIONS.get(name):
            action(self, opcode)

    def _refuse(self, opcode: Opcode, problem: str) -> NoReturn:
        refuse(self._file, opcode.position, problem)

    # containers ---------------------------------------------------------------------------------

    def mark(self, _opcode: Opcode) -> None:
        self._marks.append(len(self._stack))

    def _since_mark(self) -> list[Any]:
        return self._pop(len(self._stack) - self._marks.pop())

    def _pop(self, number: int) -> list[Any]:
        start = len(self._stack) - number
        if number < 0 or start < (self._marks[-1] if self._marks else 0):
            raise ValueError("values are missing")
        values = self._stack[start:]
        del self._stack[start:]
        return values

    def make(self, opcode: Opcode) -> None:
        """Make a container of the values since the last mark, or of one to three values."""
        kind, number = _MAKES[opcode.name]
        values = self._since_mark() if number is None else self._pop(number)
        made = dict(_pairs(values)) if kind is dict else kind(values)
        self._stack.append(made)
        if made or number == 0:
            self._put_into(made, values, opcode)

    def grow(self, opcode: Opcode) -> None:
        """Put values into the container below them."""
        kind, number = _GROWS[opcode.name]
        values = self._since_mark() if number is None else self._pop(number)
        target = self._stack[-1]
        found = type(target)
        if found is not kind or len(self._stack) - 1 < (self._marks or [0])[-1]:
            raise TypeError(f"{opcode.name} finds a {found.__name__}")
        self._put_into(target, values, opcode)
        if kind is list:
            target.extend(values)
        else:
            target.update(_pairs(values) if kind is dict else values)

    def _put_into(self, target: Any, values: Sequence[Any], opcode: Opcode) -> None:  # noqa: ANN401
        """Note how deep a container becomes by the values in it."""
        inner = max((self._levels.pop(id(value), 0) for value in values), default=0)
        level = max(self._levels.get(id(target), 1), inner + 1)
        if level > _DEEPEST:
            self._refuse(opcode, f"nested more than {_DEEPEST} deep")
        self._levels[id(target)] = level

    # values that are referred to again -----------------------------------------------------------

    def put(self, opcode: Opcode) -> None:
        memoise = opcode.name == "MEMOIZE"
        number = self._memoised if memoise else number_of(opcode.name, opcode.argument)
        self._memoised += 1
        if number in self._references:
            if len(self._memo) >= _MOST_KEPT:
                self._refuse(opcode, f"more than {_MOST_KEPT:,} values are referred to again")
            self._memo[number] = self._kept(self._stack[-1])

    def _kept(self, value: object) -> object:
        if isinstance(value, list | tuple | dict | set | frozenset) and value != ():
            return _CONTAINER
        last = self._last
        if isinstance(value, str | bytes) and len(value) > _KEPT_TEXT:
            if last.name not in TEXTS:
                raise ValueError("a text is noted elsewhere than where it stands")
            return _Place(last.name, last.argument_at, len(last.argument))
        return value

    def get(self, opcode: Opcode) -> None:
        value = self._memo.get(number_of(opcode.name, opcode.argument), _CONTAINER)
        if value is _CONTAINER:
            self._refuse(
                opcode,
                "a container is referred to again, or what is nowhere: such references can make "
                "endless values; write each value out",
            )
        if isinstance(value, _Place):
            self._again += value.size
            again = os.pread(self._stream.fileno(), value.size, value.offset)
            value = text_of(value.name, again)
        self._stack.append(value)

    def protocol(self, opcode: Opcode) -> None:
        if opcode.argument[0] > _HIGHEST_PROTOCOL:
            self._refuse(opcode, f"protocol {opcode.argument[0]} is unknown")


def _pairs(values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(values[::2], values[1::2], strict=True)


_GETS = frozenset({"GET", "BINGET", "LONG_BINGET"})
_PUTS = ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE")
# Opcode → kind of container, and how many values go into it: None takes those since the last mark.
_MAKES: dict[str, tuple[type, int | None]] = {
    "EMPTY_LIST": (list, 0),
    "EMPTY_DICT": (dict, 0),
    "EMPTY_SET": (set, 0),
    "EMPTY_TUPLE": (tuple, 0),
    "TUPLE1": (tuple, 1),
    "TUPLE2": (tuple, 2),
    "TUPLE3": (tuple, 3),
    "LIST": (list, None),
    "DICT": (dict, None),
    "TUPLE": (tuple, None),
    "FROZENSET": (frozenset, None),
}
_GROWS: dict[str, tuple[type, int | None]] = {
    "APPEND": (list, 1),
    "APPENDS": (list, None),
    "SETITEM": (dict, 2),
    "SETITEMS": (dict, None),
    "ADDITEMS": (set, None),
}
_ACTIONS: dict[str, Callable[[_Machine, Opcode], None]] = {
    "MARK": _Machine.mark,
    "PROTO": _Machine.protocol,
    **dict.fromkeys(_MAKES, _Machine.make),
    **dict.fromkeys(_GROWS, _Machine.grow),
    **dict.fromkeys(_GETS, _Machine.get),
    **dict.fromkeys(_PUTS, _Machine.put),
}
