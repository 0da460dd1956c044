"""Queries that mean more than one thing, each with code for two readings of it.

Neither code is wrong: a label says which reading was taken.
"""

import tomllib
from pathlib import Path
from typing import NamedTuple


class Reading(NamedTuple):
    """What somebody who asks a query may want, and code that gives it."""

    text: str
    code: str


class AmbiguousQuery(NamedTuple):
    """A query with two readings.

    Attributes:
        query: The query.
        call: Arguments for which the codes of the readings give different values, as source.
        readings: The readings, the likelier one first.
    """

    query: str
    call: str
    readings: tuple[Reading, Reading]


def load_ambiguous() -> tuple[AmbiguousQuery, ...]:
    """Return all queries of ``ambiguous.toml``."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return tuple(_query(**item) for item in table["query"])


def _query(query: str, call: str, reading: list[dict[str, str]]) -> AmbiguousQuery:
    first, second = (Reading(**one) for one in reading)
    return AmbiguousQuery(query, call, (first, second))
