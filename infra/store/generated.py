"""Tables of written answers: codes that a model wrote for queries without a match."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from infra.identity import CodeId, QueryId
from infra.records import Code, GivenVote, LanguageModelCall, Record
from infra.store.corpus import insert_texts
from infra.store.database import Database
from infra.store.votes import record_votes

CONFIRMATIONS = "people:generated"
"""Origin of people's votes on written answers."""

# An answer's state over all people: one who refuses it outweighs those who confirm it.
_ANSWERS = (
    "SELECT collection, query_id, queries.text AS query, ordinal, code_id, codes.text AS code, "
    "model, recipe_id, status, reason, edited, confirmed, notes "
    "FROM generated_codes JOIN queries USING (query_id) JOIN codes USING (code_id) "
    "LEFT JOIN (SELECT collection, query_id, code_id, bool_and(relevance > 0) AS confirmed, "
    "  string_agg(note, '; ' ORDER BY annotator) FILTER (note <> '') AS notes "
    "  FROM votes WHERE origin = ? GROUP BY ALL) "
    "USING (collection, query_id, code_id) WHERE collection = ? ORDER BY query_id, ordinal"
)


class GeneratedCode(Record):
    """A written answer.

    Attributes:
        collection: The collection of the query.
        query_id: The query.
        query: Its text.
        ordinal: The answer's number among those to the query, from 0.
        code_id: The code.
        code: Its text.
        model: The model that wrote it.
        recipe_id: The recipe of the agents that verified it.
        status: Whether these agents label the pair 1.
        reason: Why, in their words.
        edited: Whether a person changed the code.
        confirmed: What people say, None where nobody was asked.
        notes: Their notes.
    """

    collection: str
    query_id: QueryId
    query: str
    ordinal: int
    code_id: CodeId
    code: str
    model: str
    recipe_id: str
    status: Literal["verified", "refused"]
    reason: str
    edited: bool = False
    confirmed: bool | None = None
    notes: str | None = None

    @property
    def is_refused(self) -> bool:
        """Return True if the agents or a person refuse it."""
        return self.status == "refused" or self.confirmed is False

    @property
    def origin(self) -> str:
        """The origin of the code and of its label."""
        return f"generated:{self.model}{', edited' if self.edited else ''}"


def add_answers(
    database: Database,
    answers: Sequence[tuple[GeneratedCode, Sequence[LanguageModelCall]]],
    confirmations: Mapping[str, Sequence[GivenVote]] = MappingProxyType({}),
) -> None:
    """Store answers and collection → people's votes on answers, all of them or none.

    Raises:
        SourceError: As of `record_votes`.
    """
    left_out = {"query", "code", "confirmed", "notes"}
    rows = [
        answer.model_dump(exclude=left_out)
        | {"calls": json.dumps([call.model_dump(mode="json") for call in calls])}
        for answer, calls in answers
    ]
    with database.transaction() as tx:
        texts = [Code(code_id=answer.code_id, text=answer.code) for answer, _ in answers]
        insert_texts(tx, codes=texts)
        tx.insert("generated_codes", rows)
        for collection, votes in confirmations.items():
            record_votes(tx, collection, votes)


def load_answers(database: Database, collection: str) -> list[GeneratedCode]:
    """Return all answers to a collection's queries, those to one query oldest first."""
    return database.records(GeneratedCode, _ANSWERS, [CONFIRMATIONS, collection])


def collections_with_answers(database: Database) -> list[str]:
    """Return the names of the collections whose queries have answers, ascending."""
    return database.column("SELECT DISTINCT collection FROM generated_codes ORDER BY collection")
