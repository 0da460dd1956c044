"""Candidates as a search has stored them."""

import json

from infra.identity import SearchId
from infra.records import Candidate
from infra.store import Database


def load_candidates(database: Database, search_id: SearchId, collection: str) -> list[Candidate]:
    """Return a search's candidates for a collection's queries, best first."""
    rows = database.rows(
        "SELECT query_id, code_id, rank, similarity, by_encoder FROM candidates "
        "JOIN (SELECT query_id, position FROM collection_queries WHERE collection = ?) "
        "USING (query_id) WHERE search_id = ? ORDER BY position, rank",
        [collection, search_id],
    )
    return [
        Candidate(query_id=query, code_id=code, rank=rank, similarity=similarity,
                  by_encoder=json.loads(by_encoder))
        for query, code, rank, similarity, by_encoder in rows
    ]  # fmt: skip
