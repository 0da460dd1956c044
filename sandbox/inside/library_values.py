"""The encoding of the standard library's and numpy's plain types, for `values`."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from typing import Any

    Add = Callable[[object], object]  # of `Graph`: takes a value, returns what stands for it
    Read = Callable[[object], Any]  # of `Reader`: the other way round
    Parts = list[Any]
    Write = Callable[[Any, Add], Parts | None]  # the parts of a value, None for one not plain
    Make = Callable[[Any, Parts, Read], object]  # of a type, its parts and `Read`

_FACTORIES = ("int", "float", "str", "list", "dict", "set", "tuple", "bool")
_ARRAY_KINDS = "biufcSUMm"  # numpy's types without objects


def encode(value: object, name: str, add: Add) -> list[Any] | None:
    """Return name and parts of a value; None for one that cannot be sent.

    Args:
        value: The value.
        name: Its type's module and name.
        add: Returns what stands for a value that it holds.
    """
    if name == "numpy.ndarray" or (name.startswith("numpy.") and hasattr(value, "dtype")):
        array: Any = value  # or a number
        if array.dtype.kind not in _ARRAY_KINDS:
            return None
        is_array = type(array).__name__ == "ndarray"
        shape = ["numpy.ndarray", list(array.shape)] if is_array else ["numpy.scalar"]
        return [*shape, array.dtype.str, array.tobytes().hex()]
    if name not in _TYPES:
        return None
    parts = _TYPES[name][0](value, add)
    return None if parts is None else [name, *parts]


def decode(name: str, parts: list[Any], read: Read) -> object:
    """Return the value of a name and parts; arguments as of `encode`.

    Raises:
        ValueError: The name is of no plain type; others for parts that are none.
    """
    module, _, title = name.partition(".")
    if module == "numpy":
        __import__("numpy")
        numpy: Any = sys.modules["numpy"]
        kind = numpy.dtype(str(parts[-2]))
        if kind.kind not in _ARRAY_KINDS:
            raise ValueError("an array of objects")
        content = numpy.frombuffer(bytes.fromhex(parts[-1]), kind)
        return content[0] if title == "scalar" else content.reshape(parts[0]).copy()
    if name not in _TYPES:
        raise ValueError(f"no plain type: {name}")
    __import__(module)
    return _TYPES[name][1](getattr(sys.modules[module], title), parts, read)


def _write_text(value: object, _add: Add) -> Parts:
    return [str(value)]


def _make_text(kind: Any, parts: Parts, _read: Read) -> object:  # noqa: ANN401 - a type
    return kind(*parts)


def _write_moment(value: Any, _add: Add) -> Parts | None:  # noqa: ANN401 - date, time or both
    zone = type(getattr(value, "tzinfo", None))
    if zone not in (type(None), getattr(sys.modules["datetime"], "timezone", None)):
        return None
    return [value.isoformat(), getattr(value, "fold", 0)]


def _make_moment(kind: Any, parts: Parts, _read: Read) -> object:  # noqa: ANN401 - a type
    moment = kind.fromisoformat(parts[0])
    return moment.replace(fold=1) if parts[1] else moment


def _write_mapping(value: Any, add: Add) -> Parts:  # noqa: ANN401 - of a kind of `dict`
    return [[[add(key), add(item)] for key, item in value.items()]]


def _make_mapping(kind: Any, parts: Parts, read: Read) -> object:  # noqa: ANN401 - a type
    return kind({read(key): read(item) for key, item in parts[0]})


def _write_default(value: Any, add: Add) -> Parts | None:  # noqa: ANN401 - of `defaultdict`
    name = getattr(value.default_factory, "__name__", "")
    is_plain = name in _FACTORIES and getattr(builtins, name) is value.default_factory
    if not is_plain and value.default_factory is not None:
        return None
    return [*_write_mapping(value, add), name]


def _make_default(kind: Any, parts: Parts, read: Read) -> object:  # noqa: ANN401 - a type
    if parts[1] not in ("", *_FACTORIES):
        raise ValueError("no plain factory")
    factory = getattr(builtins, parts[1]) if parts[1] else None
    return kind(factory, [(read(key), read(item)) for key, item in parts[0]])


_TYPES: dict[str, tuple[Write, Make]] = {
    "collections.Counter": (_write_mapping, _make_mapping),
    "collections.OrderedDict": (_write_mapping, _make_mapping),
    "collections.defaultdict": (_write_default, _make_default),
    "collections.deque": (
        lambda value, add: [[add(item) for item in value], value.maxlen],
        lambda kind, parts, read: kind([read(item) for item in parts[0]], parts[1]),
    ),
    "datetime.date": (_write_moment, _make_moment),
    "datetime.datetime": (_write_moment, _make_moment),
    "datetime.time": (_write_moment, _make_moment),
    "datetime.timedelta": (
        lambda value, _add: [value.days, value.seconds, value.microseconds],
        _make_text,
    ),
    "decimal.Decimal": (_write_text, _make_text),
    "fractions.Fraction": (_write_text, _make_text),
    "pathlib.PosixPath": (_write_text, _make_text),
    "pathlib.PurePosixPath": (_write_text, _make_text),
    "uuid.UUID": (_write_text, _make_text),
}
