"""Tables of samples that people label: what was drawn, who was given which items, and the outcome.

Labels are votes (`infra.store.votes`) whose origin names the sample.
"""

import json
from collections.abc import Collection, Sequence
from typing import Literal

from pydantic import Field

from infra.errors import SourceError
from infra.identity import CodeId, PairKey, SampleId, digest_of, mark
from infra.records import Code, Criterion, GivenVote, OfPair, Query, Record, Support
from infra.store.corpus import insert_texts, languages_of, texts_of
from infra.store.database import Database, statements_beside
from infra.store.labels import CurrentLabels, labels_in
from infra.store.votes import load_votes
from infra.summaries import PeopleFigures

Kind = Literal["pairs", "preference", "answers"]
Scale = Literal["binary", "graded"]
# What a sample is drawn from: all candidates, judged ones by query, those with several labels by
# rounds or recipes, those that the agents left undecided; and of runs on a benchmark the first
# results, or each method's first code. A further one of candidates is a name here, a statement of
# that name in `samples.sql`, a choice of `cosqa label sample --stratum` with its meaning, and a row
# of the table of samples in `tasks/browse/README.md`.
Stratum = Literal["pairs", "queries", "disagreement", "undecided", "top", "answers"]
_SQL = statements_beside(__file__)
_HIGHEST: dict[Scale, int] = {"binary": 1, "graded": 3}
_SAID = f"WITH said AS ({_SQL['said']}) "


class SampleItem(OfPair):
    """A pair of a sample.

    Attributes:
        position: Its number in the sample, from 1, at random.
        rival_id: Of a preference the code that is compared with the pair's, else "".
        swapped: Whether the rival is the first of the two that an annotator sees.
    """

    position: int = Field(ge=1)
    rival_id: CodeId = CodeId("")
    swapped: bool = False

    def relevance_by(self, *, prefers_second: bool) -> float:
        """Return 1 where the code that an annotator prefers is the pair's own, else 0."""
        return float(prefers_second == self.swapped)


class Sample(Record):
    """Pairs for people to label.

    Attributes:
        collection: Whose pairs they are; "" where no collection has them.
        kind: ``pairs`` of which each gets a grade, ``preference`` between two codes (relevance 1
            prefers the pair's own code, 0 its rival), or ``answers`` of several methods.
        scale: ``binary`` grades are 0 and 1, ``graded`` ones 0 to 3.
        seed: Of the draw, and of each annotator's order.
        body: How it was drawn: ``drawn``, the ``population`` that it was drawn from, and of
            answers which code is which method's; the ``criterion`` if it is not "exact", and the
            ``languages`` of codes that no collection has.
        items: The pairs, by position.
    """

    collection: str
    kind: Kind = "pairs"
    scale: Scale = "binary"
    seed: int = 0
    body: dict[str, object] = Field(default_factory=dict)
    items: tuple[SampleItem, ...]

    @property
    def sample_id(self) -> SampleId:
        """The hash of the items and of how they were drawn."""
        return SampleId(f"s{digest_of(self.model_dump(mode='json'), 20)}")

    @property
    def origin(self) -> str:
        """The origin of the votes on its items."""
        return f"sample:{self.sample_id}"

    @property
    def criterion(self) -> Criterion:
        """What a grade of 1 says; labels by one criterion are none by the other."""
        return "half" if self.body.get("criterion") == "half" else "exact"

    @property
    def languages(self) -> dict[str, str]:
        """Code → language, of codes that no collection has."""
        found = self.body.get("languages")
        return found if isinstance(found, dict) else {}

    @property
    def highest(self) -> int:
        """The best grade; the worst is 0."""
        return _HIGHEST[self.scale]


class SampleProgress(Record):
    """The progress of a sample's annotator: numbers of items.

    Attributes:
        annotator: The name.
        positions: Those that the annotator was given.
        blind: Items labelled blind.
        revised: Items whose label was revised after the evidence was seen.
    """

    annotator: str
    positions: tuple[int, ...]
    blind: int
    revised: int

    @property
    def is_done(self) -> bool:
        """Return True if each item that the annotator was given has a label."""
        return self.blind >= len(self.positions)


class StoredSample(Record):
    """A sample in the list of all."""

    sample_id: SampleId
    collection: str
    kind: Kind
    scale: Scale
    items: int
    drawn_at: str


class ShownItem(Record):
    """An item as an annotator sees it: the texts, and nothing that others say of it.

    Attributes:
        position: Its number in the sample.
        query: The query.
        codes: The code; of a preference both, in the order in which they are shown.
    """

    position: int
    query: Query
    codes: tuple[Code, ...]


def add_sample(database: Database, sample: Sample, texts: Collection[Query | Code] = ()) -> None:
    """Store a sample once, with those of the texts that it shows."""
    sample_id = sample.sample_id
    row = sample.model_dump(exclude={"items", "body"})
    shown = {name for item in sample.items for name in (*item.key, item.rival_id)}
    queries = [text for text in texts if isinstance(text, Query) and text.query_id in shown]
    codes = [text for text in texts if isinstance(text, Code) and text.code_id in shown]
    with database.transaction() as tx:
        insert_texts(tx, queries, codes)
        tx.insert(
            "samples",
            [row | {"sample_id": sample_id, "body": json.dumps(sample.body)}],
            on_conflict="ignore",
        )
        items = [item.model_dump() | {"sample_id": sample_id} for item in sample.items]
        tx.insert("sample_items", items, on_conflict="ignore")


def pairs_to_sample(database: Database, labels: CurrentLabels, stratum: Stratum) -> list[PairKey]:
    """Return the candidate pairs of a collection in a stratum of candidates."""
    with labels_in(database, labels) as tx:
        given = {"labels": labels.struct} if "$labels" in _SQL[stratum] else {}
        return [PairKey(*row) for row in tx.rows(_SQL[stratum], given)]


def judged_items(
    database: Database, sample: Sample, labels: CurrentLabels
) -> dict[PairKey, tuple[int, Support]]:
    """Return pair of a sample → the agents' label, and what that rests on.

    A label of several rounds rests on what the first of those that give it rests on.
    """
    with labels_in(database, labels) as tx:
        rows = tx.rows(_SQL["judged"], [sample.sample_id])
    return {PairKey(query, code): (label, support) for query, code, label, support in rows}


def samples_in(database: Database) -> list[StoredSample]:
    """Return the samples of a store, newest first."""
    return database.records(StoredSample, _SQL["samples"])


def load_sample(database: Database, sample_id: str) -> Sample:
    """Return a sample.

    Raises:
        SourceError: The store does not hold it; the message names those that it holds.
    """
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT * EXCLUDE (sample_id, drawn_at) FROM samples WHERE sample_id = ?", [sample_id]
        )
        items = tx.records(
            SampleItem,
            "SELECT * EXCLUDE (sample_id) FROM sample_items WHERE sample_id = ? ORDER BY position",
            [sample_id],
        )
    if not rows:
        known = ", ".join(item.sample_id for item in samples_in(database))
        raise SourceError(
            f"the store holds no sample {sample_id!r}; it holds {known or 'none'}: draw one with "
            "`cosqa label sample`, or name its store with --store"
        )
    [row] = rows
    return Sample.model_validate({**row, "body": json.loads(row["body"]), "items": items})


def assign(
    database: Database, sample: Sample, annotator: str, positions: Collection[int] = ()
) -> None:
    """Give an annotator items of a sample, all if none are named, beside those given before."""
    given = set(positions) or {item.position for item in sample.items}
    with database.transaction() as tx:
        for (before,) in tx.rows(
            "DELETE FROM sample_annotators WHERE sample_id = ? AND annotator = ? "
            "RETURNING positions",
            [sample.sample_id, annotator],
        ):
            given.update(before)
        row = {"sample_id": sample.sample_id, "annotator": annotator, "positions": sorted(given)}
        tx.insert("sample_annotators", [row])


def progress(database: Database, sample_id: SampleId) -> list[SampleProgress]:
    """Return each annotator's progress, by name."""
    return database.records(SampleProgress, _SQL["progress"], [sample_id])


def items_for(database: Database, sample: Sample, annotator: str) -> list[ShownItem]:
    """Return the items that an annotator was given, in the annotator's own order."""
    given = {
        position
        for item in progress(database, sample.sample_id)
        if item.annotator == annotator
        for position in item.positions
    }
    items = sorted(
        (item for item in sample.items if item.position in given),
        key=lambda item: mark(str(sample.seed), annotator, *item.key),
    )
    return show(database, items)


def show(database: Database, items: Sequence[SampleItem]) -> list[ShownItem]:
    """Return items with their texts, and the languages of codes that a collection has."""
    texts = texts_of(database, [name for i in items for name in (i.query_id, *_sides(i))])
    languages = languages_of(database, texts)
    return [
        ShownItem(
            position=item.position,
            query=Query(query_id=item.query_id, text=texts[item.query_id]),
            codes=tuple(
                Code(code_id=name, text=texts[name], language=languages.get(name, ""))
                for name in _sides(item)
            ),
        )
        for item in items
    ]


def _sides(item: SampleItem) -> list[CodeId]:
    sides = [item.code_id, item.rival_id] if item.rival_id else [item.code_id]
    return sides[::-1] if item.swapped else sides


def readable_votes(database: Database, sample: Sample) -> list[GivenVote]:
    """Return the votes of the annotators who are done with all their items.

    Of one who is not, nothing is read: labels are blind until then.
    """
    done = {one.annotator for one in progress(database, sample.sample_id) if one.is_done}
    return [vote for vote in load_votes(database, sample.origin) if vote.annotator in done]


class FinalLabel(OfPair):
    """The majority of the people who decided on a sampled pair.

    Attributes:
        collection: Whose pair it is, "" where no collection has it.
        drawn: How the sample was drawn: ``pairs`` or ``queries`` at random, or otherwise.
        scale: The sample's, as `infra.store.samples.Sample` has it.
        criterion: Likewise.
        relevance: 0, or the mean grade of those who see a match; None where as many see none.
        people: How many decided.
        is_collected: Whether the collection has both query and code.
    """

    sample_id: SampleId
    collection: str
    drawn: str
    scale: Scale
    criterion: Criterion
    relevance: float | None
    people: int
    is_collected: bool


def final_labels(database: Database) -> list[FinalLabel]:
    """Return people's labels of the sampled pairs that somebody decided on."""
    return database.records(FinalLabel, _SAID + _SQL["final_labels"])


def people_figures(database: Database) -> PeopleFigures:
    """Return the share of pairs whose own code people prefer, and their time for a pair."""
    [counts] = database.records(PeopleFigures, _SAID + _SQL["figures"])
    return counts
