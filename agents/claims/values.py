"""Values that calls give, as lists, numbers and texts that are compared without the code's help.

This module's text is part of each program of claims, so that it imports nothing of
ours. No object of the code under test is asked whether it is equal, nor what it is: `isinstance`
would believe its ``__class__``, and an attribute of its type a property of that one's type.
"""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeGuard

RELATIVE = 1e-6  # difference that does not count: single precision's
ABSOLUTE = 1e-9  # the same, of zeros
MOST_PARTS = 10_000  # of a sequence
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
LISTS: tuple[type, ...] = (list, tuple, range, map, filter, zip, *VIEWS)
NUMBERS: tuple[type, ...] = (int, float, complex)  # truth values are
MRO_OF, NAME_OF = (type.__dict__[name].__get__ for name in ("__mro__", "__name__"))


def is_a(value: object, *kinds: type) -> "TypeGuard[Any]":
    """Return True if a value is of one of these types by its own type's bases."""
    return issubclass(type(value), kinds)


def to_plain(value: object) -> object:
    """Return a value as numbers, texts and lists; what is none of them as its kind and its parts.

    Kinds of sequences and of numbers are not told apart: a tuple, an iterator, a deque and an array
    are lists, a picture of Pillow is the list of its rows, a decimal number is a float. Numbers and
    texts are of Python's own classes, not of classes that the code under test made of them.
    """
    if is_a(value, bool):
        return value
    if is_a(value, int):
        return int.__pos__(value)
    if is_a(value, float):
        return float.__pos__(value)
    if is_a(value, complex):
        return complex.__pos__(value)
    if is_a(value, str):
        return str.__str__(value)
    return to_plain(value.tolist()) if hasattr(value, "tolist") else plain_parts(value)


def plain_parts(value: object) -> object:
    """Return a value that is neither number nor text, made plain."""
    name = NAME_OF(type(value))
    if hasattr(value, "getdata") and hasattr(value, "width"):
        data, width = [*value.getdata()], value.width
        value = [data[start : start + width] for start in range(0, len(data), width)]
    if is_a(value, bytes, bytearray):
        return bytes(memoryview(value))
    if name in {"Decimal", "Fraction"}:
        return float(value)  # type: ignore[arg-type]
    if is_a(value, dict):
        items = ([to_plain(key), to_plain(one)] for key, one in value.items())
        return "dict", sorted(items, key=text_of)
    if is_a(value, set, frozenset):
        return "set", sorted(map(to_plain, value), key=text_of)
    if is_a(value, *LISTS) or hasattr(value, "__next__") or name == "deque":
        return [*map(to_plain, read_parts(value))]
    return "object", str.__str__(str(value))


def read_parts(value: object) -> list[object]:
    """Return the parts of a sequence as they are when all are read: one may be refilled for each.

    What can be read once is read at its turn, as the groups of ``groupby`` must be.
    """
    parts = iter(value)  # type: ignore[call-overload]
    return [at_its_turn(part) for _, part in zip(range(MOST_PARTS), parts)]  # noqa: B905


def at_its_turn(part: object) -> object:
    """Return a part in which nothing is left that can be read once."""
    if is_a(part, tuple):
        return (*map(at_its_turn, part),)
    return read_parts(part) if hasattr(part, "__next__") else part


def approx_equal(one: object, other: object) -> bool:
    """Return True if two plain values are equal, numbers but for the last digits."""
    if is_a(one, *NUMBERS) and is_a(other, *NUMBERS):
        return one == other or close(one, other)
    if type(one) is not type(other):
        return False
    if is_a(one, list, tuple) and is_a(other, list, tuple):
        return len(one) == len(other) and all(map(approx_equal, one, other))
    return type(one) in (str, bytes, type(None)) and one == other


def relaxed_equal(one: object, other: object) -> bool:
    """Return True if plain values are alike but for what may be left open.

    That is a path in place of its last name, and pairs in place of keys.
    """
    if is_a(one, str) and is_a(other, str):
        name, others_name = (text.rstrip("/").rpartition("/")[2] for text in (one, other))
        is_name = name in (one.rstrip("/"), other.rstrip("/")) and any(map(str.isalpha, name))
        return one == other or (name == others_name and is_name)
    parts, others = list_parts(one), list_parts(other)
    if parts is None or others is None:
        return approx_equal(one, other)
    if are_pairs(parts) != are_pairs(others):
        parts, others = keys_of(parts), keys_of(others)
    elif is_a(one, tuple) != is_a(other, tuple):
        parts, others = sorted(parts, key=text_of), sorted(others, key=text_of)
    return len(parts) == len(others) and all(map(relaxed_equal, parts, others))


def list_parts(value: object) -> "list[Any] | None":
    """Return the parts of a plain list, or the pairs of a dictionary."""
    if is_a(value, tuple) and value[0] == "dict":
        value = value[1]
    return value if is_a(value, list) else None


def are_pairs(parts: "list[Any]") -> bool:
    """Return True if a list is one of pairs."""
    return bool(parts) and all(is_a(part, list) and len(part) == 2 for part in parts)


def keys_of(parts: "list[Any]") -> "list[Any]":
    """Return the first parts of pairs; a list of anything else as it is."""
    return [part[0] for part in parts] if are_pairs(parts) else parts


def suits(given: object, way: str, wanted: "list[Any] | str") -> bool:
    """Return True if a plain value is one of some, or a text with words in order, or of a pattern.

    Texts in a list are lines of one.
    """
    if way == "one of":
        return any(approx_equal(given, one) for one in wanted)
    if is_a(given, list) and all(is_a(part, str) for part in given):
        given = "\n".join(given)
    if not is_a(given, str) or not is_a(wanted, str):
        return False
    if way == "matches":
        return re.compile(wanted, re.ASCII).fullmatch(given) is not None
    place = 0
    for word in wanted.split():
        begin, end = (r"\b" * bool(re.match(r"\w", one, re.ASCII)) for one in (word, word[-1]))
        found = re.compile(f"{begin}{re.escape(word)}{end}", re.ASCII).search(given, place)
        if not found:
            return False
        place = found.end()
    return True


def close(one: complex, other: complex) -> bool:
    """Return True if two numbers of which one is no integer differ in the last digits alone."""
    if is_a(one, int) and is_a(other, int):
        return False
    if one != one or other != other:  # noqa: PLR0124 - no number is equal to itself
        return one != one and other != other  # noqa: PLR0124
    try:
        size = max(abs(one), abs(other))
        return abs(one - other) <= max(ABSOLUTE, RELATIVE * size) < float("inf")
    except OverflowError:  # an integer that is larger than any float
        return False


def text_of(value: object) -> str:
    """Return a plain value as text; equal ones have one text, but for numbers' last digits."""
    if is_a(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    if is_a(value, tuple):
        kind, parts = value
        if kind == "dict":
            return "{" + ", ".join(f"{text_of(key)}: {text_of(one)}" for key, one in parts) + "}"
        return "{" + ", ".join(map(text_of, parts)) + "}" if kind == "set" else parts
    if is_a(value, float):
        whole = value.is_integer() and abs(value) < 2**53
        return str(int(value)) if whole else f"{value:.9g}"
    return repr(value)


def canonical_strings(value: object) -> list[str]:
    """Return texts for a value and for each part: the first one without kind and order of parts.

    Of a list the last one has the order. A dictionary has texts as its items, its keys and its
    values; what can be read once has none.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if is_a(value, dict):
        views = ([*value.items()], [*value], [*value.values()])
        return [face for view in views for face in canonical_strings(view)]
    if is_a(value, list, tuple, set, frozenset):
        parts = [canonical_strings(part) for part in value]
        whole = "{" + ", ".join(sorted(part[0] for part in parts)) + "}"
        order = "[" + ", ".join(part[-1] for part in parts) + "]"
        inner = [face for part in parts for face in part]
        return [whole, *inner, order if is_a(value, list, tuple) else whole]
    return [""] if hasattr(value, "__next__") else [text_of(to_plain(value))]
