"""Probes: further calls, made from claims, whose values nobody demands.

Codes that give the same for all claims may still differ; probes tell them apart. Each is a claim's
call with one argument changed as inputs at the edge are: empty, zero, negative, doubled, reversed.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import islice

from agents.claims.claim import Claim
from infra.languages.python.syntax import UNREADABLE

_LONGEST = 300  # characters of a probe's arguments


def probes_of(claims: Sequence[Claim], most: int) -> tuple[str, ...]:
    """Return the arguments of probes, from each claim in turn.

    Args:
        claims: The claims; those whose arguments are no literals give none.
        most: How many are made.
    """
    asked = {claim.arguments for claim in claims}
    in_turn = _round_robin([_changed(claim.arguments) for claim in claims])
    new = (text for text in in_turn if text not in asked and len(text) <= _LONGEST)
    return tuple(islice(dict.fromkeys(islice(new, 4 * most)), most))


def _round_robin(sources: Sequence[Iterator[str]]) -> Iterator[str]:
    left = list(sources)
    while left:
        going = []
        for source in left:
            found = next(source, None)
            if found is not None:
                going.append(source)
                yield found
        left = going


def _changed(arguments: str) -> Iterator[str]:
    try:
        values = ast.literal_eval(f"({arguments},)") if arguments else ()
    except (*UNREADABLE, TypeError):
        return
    yield from _round_robin([_with_another(values, place) for place in range(len(values))])


def _with_another(values: tuple[object, ...], place: int) -> Iterator[str]:
    """Yield the arguments with another value at one place."""
    for other in _variants(values[place]):
        yield ", ".join(map(repr, (*values[:place], other, *values[place + 1 :])))


def _variants(value: object) -> Iterator[object]:
    """Yield values near one of the same kind."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, 0, -value, 2 * value, value + 7)
    elif isinstance(value, str):
        yield from ("", value + value, value[::-1], value[:1], value.swapcase(), value[1:])
    elif isinstance(value, list):
        yield from _changed_lists(value)
    elif isinstance(value, tuple):
        yield from map(tuple, _changed_lists(list(value)))
    elif isinstance(value, dict):
        items = list(value.items())
        yield from (dict(items[1:]), dict(items[::-1]), {})


def _changed_lists(parts: list[object]) -> Iterator[list[object]]:
    """Yield lists near one: reversed, empty, doubled, cut, and with another first or last part."""
    yield from (parts[::-1], [], parts + parts, parts[:1], parts[1:])
    for place in sorted({0, len(parts) - 1}) if parts else ():
        for other in _variants(parts[place]):
            yield [*parts[:place], other, *parts[place + 1 :]]
