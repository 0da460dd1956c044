"""The votes of judges on a collection's candidates, counted, beside what people said of them."""

from typing import NamedTuple

from infra.store.database import Database
from infra.store.posteriors import BALLOTS
from infra.store.standing import PAIRS, CurrentLabels

# Pairs that people labelled 0 or 1 alike; labels that came with documentation are none of theirs.
_PEOPLE = """
    SELECT query_id, code_id, any_value(relevance)::TINYINT AS truth FROM source_labels
    WHERE collection = $collection AND starts_with(origin, $people)
    GROUP BY query_id, code_id
    HAVING min(relevance) = max(relevance) AND min(relevance) IN (0, 1)
"""


class CountedBallot(NamedTuple):
    """Pairs on which the judges voted alike: their votes in order, and what people said."""

    votes: tuple[int | None, ...]
    truth: int | None
    pairs: int


def count_ballots(database: Database, labels: CurrentLabels, people: str) -> list[CountedBallot]:
    """Return how the judges voted on the candidates on which one of them did, in a fixed order.

    Args:
        database: The store.
        labels: Which candidates, and the judges.
        people: How the origins of people's labels begin.
    """
    judges = len(labels.judges.judges)
    columns = "".join(f"max(label) FILTER (judge = {place}), " for place in range(judges))
    searches = {"collection": labels.collection, "searches": list(labels.search_ids)}
    with (
        database.transaction() as tx,
        tx.stream("coverage", labels.coverage.rows),
        tx.stream("judges", labels.judges.rows),
    ):
        tx.connection.execute(PAIRS, searches)
        support = {"collection": labels.collection, "support": list(labels.support)}
        tx.connection.execute(BALLOTS, support)
        rows = tx.rows(
            f"SELECT * EXCLUDE (query_id, code_id), count(*) FROM (SELECT {columns} "  # noqa: S608 - literals only
            "query_id, code_id FROM ballots GROUP BY query_id, code_id) "
            f"LEFT JOIN ({_PEOPLE}) USING (query_id, code_id) GROUP BY ALL ORDER BY ALL",
            {"collection": labels.collection, "people": people},
        )
        for table in ("ballots", "label_pairs"):
            tx.execute(f"DROP TABLE {table}")
    return [CountedBallot(*_split(row, judges)) for row in rows]


def _split(row: tuple[object, ...], judges: int) -> tuple[tuple[int | None, ...], int | None, int]:
    votes = tuple(_label(value) for value in row[:judges])
    return votes, _label(row[judges]), int(str(row[-1]))


def _label(value: object) -> int | None:
    return value if isinstance(value, int) else None
