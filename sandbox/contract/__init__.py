"""The contract of a sandbox in executable form: the behaviours that every box must show.

They are read from a table for each language; ``check`` asks an engine for them before a run, and
persists those that it has shown.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

from sandbox.executed import EXECUTED

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Behaviour:
    """A program and the result that it must have.

    Attributes:
        name: The behaviour, as a sentence without its full stop.
        program: The program that is run.
        expects: Fields of the ``ExecutionResult`` and their values; a list holds alternatives.
        code: The code under test.
        before: A program that is run first in the same box; its result is ignored.
        before_code: The code under test of that program, where it has another.
        again: Run a second time, with the ``same`` or an ``other`` seed and clock, it must print
            the same or another text.
        language: The language of the box.
    """

    name: str
    program: str
    expects: Mapping[str, object]
    code: str = ""
    before: str = ""
    again: Literal["", "same", "other"] = ""
    before_code: str | None = None
    language: str = "python"


def _read(language: str) -> Iterator[Behaviour]:
    table = tomllib.loads((_FOLDER / f"{language}.toml").read_text("utf-8"))
    groups = {name: table.pop(name) for name, value in [*table.items()] if isinstance(value, dict)}
    for group in groups.values():
        behaviours = group.pop("behaviours")
        for behaviour in behaviours:
            yield Behaviour(**{**table, **group, **behaviour}, language=language)


BEHAVIOURS = tuple(_read("python"))
BEHAVIOURS_OF_ALL_LANGUAGES = tuple(chain.from_iterable(map(_read, EXECUTED)))
