"""Pairs whose right label is known, with what people said of them, read from a file.

The file is JSON Lines, or a JSON array as CoSQA publishes its pairs. Each item has ``query`` (or
``doc``), ``code`` and ``label``, and may have ``labels``: the name of a person, or of a group, to
what they said (0, 1, or null where they were undecided).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from infra.errors import SourceError
from infra.records import Code, Pair, PairKey, Query, Record


class _Item(BaseModel):
    query: str = Field(validation_alias=AliasChoices("query", "doc"))
    code: str
    label: int = Field(ge=0, le=1)
    labels: dict[str, int | None] = Field(default_factory=dict)


class TruePair(Record):
    """A pair with its true label and what people said of it."""

    pair: Pair
    label: int
    by_people: dict[str, int | None]

    @property
    def key(self) -> PairKey:
        """Ids of query and code."""
        return self.pair.key


def read_truth(file: Path, limit: int | None = None) -> tuple[TruePair, ...]:
    """Return the pairs of a file in their order, each once; the first ``limit`` where given.

    Raises:
        SourceError: The file is missing, an item is malformed, or two items contradict each other.
    """
    known: dict[PairKey, TruePair] = {}
    for place, value in _items(file):
        found = _true_pair(value, place)
        if known.setdefault(found.key, found).label != found.label:
            raise SourceError(f"{place} contradicts the label of the same pair before it")
    return tuple(known.values())[:limit]


def _items(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = file.read_text("utf-8")
        if text.lstrip().startswith("["):
            yield from ((f"{file}, item {n}", item) for n, item in enumerate(json.loads(text), 1))
            return
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield f"{file}, line {number}", json.loads(line)
    except OSError as error:
        raise SourceError(f"the truth cannot be read: {error}") from None
    except ValueError as error:
        raise SourceError(f"{file} is neither JSON Lines nor a JSON array: {error}") from None


def _true_pair(value: object, place: str) -> TruePair:
    try:
        item = _Item.model_validate(value)
        pair = Pair(query=Query.of(item.query), code=Code.of(item.code))
    except ValidationError as error:
        problem = error.errors()[0]
        where = "".join(f"{part}: " for part in problem["loc"])
        raise SourceError(f"{place}: {where}{problem['msg']}") from None
    except ValueError as error:
        raise SourceError(f"{place}: {error}") from None
    return TruePair(pair=pair, label=item.label, by_people=item.labels)
