"""Pairs of query and code with a true label and annotators' labels, read from a file.

The file is JSON Lines, or a JSON array as CoSQA publishes its pairs. Each item has ``query`` (or
``doc``), ``code`` and ``label``, and may have ``language``, and ``labels``: the name of an
annotator, or of a group, to their label (0, 1, or null where they were undecided).
"""

from pathlib import Path

from pydantic import AliasChoices, Field

from infra.errors import SourceError
from infra.identity import PairKey
from infra.records import Code, GivenVote, Pair, Query, Record
from infra.subsets import ALL, Draw
from tasks.inputs.lines import read_items
from tasks.inputs.pairs import PairLabel, PairRow
from tasks.inputs.text import printable


class _Item(PairRow):
    query: str = Field(validation_alias=AliasChoices("query", "doc"))
    code: str
    label: PairLabel
    labels: dict[str, PairLabel | None] = Field(default_factory=dict)


class TruePair(Record):
    """A pair with its true label and those of annotators; ``place`` is its file and line."""

    pair: Pair
    label: int
    by_people: dict[str, int | None]
    place: str = ""

    @property
    def key(self) -> PairKey:
        """Ids of query and code."""
        return self.pair.key

    def votes(self, origin: str) -> list[GivenVote]:
        """Return the labels as votes; the true label's annotator has no name."""
        query_id, code_id = self.key
        return [
            GivenVote(
                query_id=query_id,
                code_id=code_id,
                annotator=name,
                origin=origin,
                relevance=label,
                place=self.place,
            )
            for name, label in {**self.by_people, "": self.label}.items()
        ]


def read_truth(file: Path, draw: Draw = ALL) -> tuple[TruePair, ...]:
    """Return the pairs drawn of the distinct ones of a file, in its order.

    Raises:
        SourceError: The file is missing or holds no pair, an item is malformed, or two items
            contradict each other.
    """
    pairs: dict[PairKey, TruePair] = {}
    for place, item in read_items(file, _Item):
        try:
            texts = Pair(
                query=Query.of(item.query), code=Code.of(item.code, language=item.language)
            )
        except ValueError as error:
            raise SourceError(f"{place}: {error}") from None
        pair = TruePair(pair=texts, label=item.label, by_people=item.labels, place=place)
        if pairs.setdefault(pair.key, pair).label != pair.label:
            raise SourceError(f"{place} contradicts the label of the same pair before it")
    if not pairs:
        raise SourceError(
            f'{printable(file)} holds no pairs: write lines such as {{"query": "...", '
            '"code": "def ...", "label": 1}'
        )
    chosen = draw.of(" ".join(key) for key in pairs)
    return tuple(pair for key, pair in pairs.items() if " ".join(key) in chosen)
