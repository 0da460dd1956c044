"""The table of votes that came from outside: people's, and the answers to gold questions.

To add a source of votes, write a file that reads it into `GivenVote`s with their places, and a
caller that hands these to `record_votes`; `infra.store.annotations.record_pairs`
stores pairs of no collection with them.
"""

from collections.abc import Iterable

import pyarrow as pa

from infra.errors import SourceError
from infra.records import GivenVote
from infra.store.database import Database, Transaction

_FAULTS_SHOWN = 10
_TEXTS = ("place", "origin", "kind", "annotator", "query_id", "code_id", "note")
_VOTES = pa.schema(dict.fromkeys(_TEXTS, pa.string()) | {"relevance": pa.float64()})
_INCOMING = """
    CREATE TEMP TABLE incoming_votes AS
    SELECT * REPLACE (coalesce(place, '') AS place, coalesce(kind, 'person') AS kind,
        coalesce(annotator, '') AS annotator)
    FROM (SELECT '' AS place, '' AS kind, '' AS annotator WHERE false
          UNION ALL BY NAME FROM incoming)
"""
_FAULTS = """
    SELECT if(place = '', fault, place || ': ' || fault) FROM (
        SELECT rowid AS row, place, CASE
            WHEN query_id NOT IN (SELECT query_id FROM queries)
                THEN 'the store holds no query ' || query_id
            WHEN code_id NOT IN (SELECT code_id FROM codes)
                THEN 'the store holds no code ' || code_id
            WHEN NOT (relevance >= 0 AND isfinite(relevance))
                THEN 'relevance ' || relevance || ': it must be a number from 0'
            WHEN row_number() OVER (
                PARTITION BY origin, annotator, query_id, code_id ORDER BY rowid) > 1
                THEN if(annotator = '', 'nobody', '''' || annotator || '''') || ' votes twice on '
                    || 'query ' || query_id || ' and code ' || code_id
            END AS fault
        FROM incoming_votes
    ) WHERE fault IS NOT NULL ORDER BY row LIMIT ?
"""
_OLDER = """
    DELETE FROM votes USING incoming_votes AS i
    WHERE votes.collection = ? AND votes.origin = i.origin AND votes.annotator = i.annotator
    AND votes.query_id = i.query_id AND votes.code_id = i.code_id
"""


def record_votes(
    tx: Transaction, collection: str, given: Iterable[GivenVote] | pa.RecordBatchReader
) -> None:
    """Store votes from outside, all of them or none; an annotator's later vote replaces.

    The texts of their pairs are stored before.

    Args:
        tx: The transaction.
        collection: Whose pairs they are on; "" where no collection has them.
        given: The votes, or their columns: those of a source name no kind, annotator or place.

    Raises:
        SourceError: Votes are on pairs that the store does not hold, have no number from 0 as
            their relevance, or are an annotator's second on a pair; each is named with its place.
    """
    if not isinstance(given, pa.RecordBatchReader):
        rows = [vote.model_dump(include=set(_VOTES.names)) for vote in given]
        given = pa.Table.from_pylist(rows, schema=_VOTES).to_reader()
    with tx.stream("incoming", given):
        tx.execute(_INCOMING)
    if faults := tx.rows(_FAULTS, [_FAULTS_SHOWN]):
        raise SourceError("\n".join(fault for (fault,) in faults))
    tx.execute(_OLDER, [collection])
    tx.execute(
        "INSERT INTO votes BY NAME SELECT ? AS collection, * EXCLUDE (place) FROM incoming_votes",
        [collection],
    )
    tx.execute("DROP TABLE incoming_votes")


def load_votes(database: Database, origin: str) -> list[GivenVote]:
    """Return the votes of an origin, in the order in which they were stored."""
    return database.records(
        GivenVote,
        "SELECT * EXCLUDE (collection, voted_at) FROM votes WHERE origin = ? ORDER BY rowid",
        [origin],
    )
