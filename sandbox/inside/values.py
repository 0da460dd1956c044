"""Plain values as JSON and back, for a program and code under test in separate processes.

What the code's process sends is data of an attacker: reading it makes objects of the listed types
and nothing else, and calls nothing that it names. A call's arguments are sent as a graph, so that
what is one object on one side is one on the other, cycles included; the answer tells what has
become of the lists, dictionaries and sets among them.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable

from sandbox.inside.library_values import decode, encode

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from typing import Any

    from sandbox.inside import Node

    Foreign = Callable[[object], Node | None]

_INLINE = (type(None), bool, str, float)
_LONGEST_INT = 10**300  # longer ones are sent in hexadecimal: Python limits decimal digits
_MUTABLE = {"list": list, "dict": dict, "set": set, "bytearray": bytearray}
_IN_ORDER = {"tuple": tuple, "frozenset": frozenset}
_CONSTANTS = {"Ellipsis": ..., "NotImplemented": NotImplemented}
_TO_HEX: dict[str, Callable[[Any], str]] = {"int": hex, "bytes": bytes.hex}
_FROM_HEX: dict[str, Callable[[str], object]] = {
    "int": lambda text: int(text, 16),
    "bytes": bytes.fromhex,
}


class NotPlainError(Exception):
    """A value that cannot be sent to another process."""


class Graph:
    """Values on their way to the other process.

    Args:
        known: Objects that the other process has, in its order; they are sent as references,
            lists, dictionaries and sets with their present contents.
        foreign: Returns the node of what is no plain value, None for what cannot be sent.
    """

    def __init__(self, known: list[object], foreign: Foreign) -> None:
        self.nodes: list[Node] = []
        self.objects: list[object] = []  # kept alive, so that no two have one address
        self._places: dict[int, int] = {}
        self._known = {id(item): place for place, item in enumerate(known)}
        self._foreign = foreign

    def add(self, value: object) -> object:
        """Return the code of a value: itself, or the place of its node in a list.

        Raises:
            NotPlainError: It is of no type that can be sent.
        """
        kind = type(value)
        if kind in _INLINE or (kind is int and abs(value) < _LONGEST_INT):  # type: ignore[arg-type]
            return value
        if id(value) in self._places:
            return [self._places[id(value)]]
        place = self._places[id(value)] = len(self.nodes)
        node: Node = []
        self.nodes.append(node)
        self.objects.append(value)
        known = self._known.get(id(value))
        if known is None:
            node += self._content(value)
        elif kind in _MUTABLE.values():
            node += ["changed", known, self._items(value)]
        else:
            node += ["known", known]
        return [place]

    def _content(self, value: object) -> Node:
        """Return the kind and the parts of a value."""
        kind = type(value)
        name = kind.__name__
        if kind in (*_MUTABLE.values(), *_IN_ORDER.values()):
            return [name, self._items(value)]
        node = self._builtin_node(value, name) if kind.__module__ == "builtins" else None
        node = node or encode(value, f"{kind.__module__}.{name}", self.add)
        node = node or self._foreign(value)
        if node is None:
            raise NotPlainError(f"{kind.__module__}.{kind.__qualname__}")
        return node

    def _items(self, value: Any) -> object:  # noqa: ANN401 - list, dict, set, tuple and the like
        if type(value) is dict:
            return [[self.add(key), self.add(item)] for key, item in value.items()]
        return value.hex() if type(value) is bytearray else [self.add(item) for item in value]

    def _builtin_node(self, value: Any, name: str) -> Node | None:  # noqa: ANN401 - of that type
        if name in _TO_HEX:
            return [name, _TO_HEX[name](value)]
        if name == "complex":
            return [name, value.real, value.imag]
        if name in ("range", "slice"):
            return [name, [self.add(bound) for bound in (value.start, value.stop, value.step)]]
        title = getattr(value, "__name__", "") if isinstance(value, type | type(len)) else ""
        if title and getattr(builtins, title, None) is value:
            return ["builtin", title]
        return next(([key] for key, constant in _CONSTANTS.items() if value is constant), None)


class Reader:
    """Values that have come from the other process.

    Args:
        nodes: The graph's nodes.
        known: This process's objects to which they may refer.
        foreign: Returns what a node of no plain value stands for.
    """

    def __init__(
        self, nodes: list[Node], known: list[object], foreign: Callable[[Node], object]
    ) -> None:
        self._nodes = nodes
        self._known = known
        self._foreign = foreign
        self._made: dict[int, object] = {}
        self._begun: set[int] = set()
        self._makers: dict[str, Callable[[list[Any]], object]] = {
            "known": lambda parts: self._known[parts[0]],
            "builtin": lambda parts: vars(builtins)[parts[0]],
            "complex": lambda parts: complex(*parts),
            "range": lambda parts: range(*map(self.value, parts[0])),
            "slice": lambda parts: slice(*map(self.value, parts[0])),
        }

    def objects(self) -> list[object]:
        """Return all objects, in the order of the nodes."""
        return [self._object(place) for place in range(len(self._nodes))]

    def value(self, element: object) -> Any:  # noqa: ANN401 - whatever was sent
        """Return the value that an element stands for.

        Raises:
            ValueError: The graph is none of `Graph`; TypeError, KeyError, IndexError and others as
                well: a caller takes all errors for the same.
        """
        if isinstance(element, list):
            (place,) = element
            return self._object(place)
        return element

    def _object(self, place: int) -> object:
        if place in self._made:
            return self._made[place]
        if place in self._begun or place < 0:
            raise ValueError("a value that holds itself")
        self._begun.add(place)
        tag, *parts = self._nodes[place]
        if tag not in _MUTABLE and tag != "changed":
            self._made[place] = self._constant(tag, parts)
            return self._made[place]
        target: Any = self._known[parts[0]] if tag == "changed" else _MUTABLE[tag]()
        self._made[place] = target  # before its contents, which may lead back to it
        items = parts[-1]  # which take the place of those that it has
        if isinstance(target, bytearray):
            target[:] = bytes.fromhex(items)
        elif type(target) is dict:
            pairs = [(self.value(key), self.value(item)) for key, item in items]
            target.clear()
            target.update(pairs)
        elif type(target) in (list, set):
            values = [self.value(item) for item in items]
            target.clear()
            (target.extend if isinstance(target, list) else target.update)(values)
        else:
            raise ValueError("contents of what has none")
        return target

    def _constant(self, tag: str, parts: list[Any]) -> object:
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag in _IN_ORDER:
            return _IN_ORDER[tag](self.value(item) for item in parts[0])
        if tag in _FROM_HEX:
            return _FROM_HEX[tag](parts[0])
        if tag in self._makers:
            return self._makers[tag](parts)
        return decode(tag, parts, self.value) if "." in tag else self._foreign([tag, *parts])
