"""The table of votes that came from outside: people's, and the answers to gold questions.

To add a source of votes, write a file that reads it into `GivenVote`s with their places, and a
caller that hands these to `record_votes`; `infra.store.annotations.record_pairs`
stores pairs of no collection with them.
"""

import json
from collections.abc import Iterable, Sequence

import pyarrow as pa

from infra.errors import SourceError
from infra.identity import PairKey
from infra.records import GivenVote
from infra.store.database import Database, Transaction, statements_beside

_FAULTS_SHOWN = 10
_TEXTS = (
    "place", "origin", "kind", "annotator", "query_id", "code_id", "phase", "note", "program",
    "execution",
)  # fmt: skip
_NUMBERS = ("relevance", "minutes")
_VOTES = pa.schema(
    dict.fromkeys(_TEXTS, pa.string())
    | dict.fromkeys(_NUMBERS, pa.float64())
    | {"notes": pa.list_(pa.string())}
)
_SQL = statements_beside(__file__)


def record_votes(
    tx: Transaction, collection: str, given: Iterable[GivenVote] | pa.RecordBatchReader
) -> None:
    """Store votes from outside, all of them or none; an annotator's later vote replaces.

    A label that was given blind stays as it is once the annotator has revised it.

    The texts of their pairs are stored before.

    Args:
        tx: The transaction.
        collection: Whose pairs they are on; "" where no collection has them.
        given: The votes, or their columns: those of a source name no kind, annotator or place.

    Raises:
        SourceError: Votes are on pairs that the store does not hold, have no number from 0 as
            their relevance, are an annotator's second on a pair, change a blind label that was
            revised, or revise none; each is named with its place.
    """
    if not isinstance(given, pa.RecordBatchReader):
        rows = [
            vote.model_dump(include=set(_VOTES.names))
            | {"execution": vote.execution and vote.execution.model_dump_json()}
            for vote in given
        ]
        given = pa.Table.from_pylist(rows, schema=_VOTES).to_reader()
    with tx.stream("incoming", given):
        tx.execute(_SQL["incoming"])
    if faults := tx.rows(_SQL["faults"], [collection, _FAULTS_SHOWN]):
        raise SourceError("\n".join(fault for (fault,) in faults))
    tx.execute(_SQL["replaced"], [collection])
    tx.execute(
        "INSERT INTO votes BY NAME SELECT ? AS collection, * EXCLUDE (place) FROM incoming_votes",
        [collection],
    )
    tx.execute("DROP TABLE incoming_votes")


def load_votes(database: Database, origin: str) -> list[GivenVote]:
    """Return the votes of an origin, in the order in which they were stored."""
    return _load(database, "origin = ?", [origin])


def votes_on(database: Database, key: PairKey) -> list[GivenVote]:
    """Return the votes on a pair, of all origins, in the order in which they were stored."""
    return _load(database, "query_id = ? AND code_id = ?", [*key])


def _load(database: Database, where: str, parameters: Sequence[object]) -> list[GivenVote]:
    rows = database.dicts(
        f"SELECT * EXCLUDE (collection, voted_at) FROM votes WHERE {where} ORDER BY rowid",  # noqa: S608 - literals only
        parameters,
    )
    return [
        GivenVote.model_validate(row | {"execution": json.loads(row["execution"] or "null")})
        for row in rows
    ]
