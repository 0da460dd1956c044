"""The overlap of each encoder's own candidates with the ensemble's, computed once for a search."""

from collections.abc import Mapping, Sequence

from prefect import State
from prefect.logging import get_run_logger

from infra.batches import batched
from infra.errors import StoreError
from infra.identity import digest
from infra.ids import CodeId, QueryId
from infra.records import Record
from infra.settings import SearchSettings
from infra.store import Database, corpus, figures
from infra.store.vectors import StoredVectors
from tasks.encoders import Vectors
from tasks.runtime.artifacts import artifact_key
from tasks.runtime.caching import VECTORS_AWAY, stage
from tasks.runtime.progress import progress
from tasks.runtime.references import CollectedSource
from tasks.search.exact import queries_at_once, search_apart
from tasks.stages.vectors import open_codes, stored_vectors


class Overlaps(Record):
    """Mean overlaps over ``queries`` queries.

    Attributes:
        by_encoder: Encoder → mean share of the ensemble's candidates that it finds alone.
        problem: Why there are none; empty where there are.
    """

    by_encoder: dict[str, float]
    queries: int
    problem: str = ""


def overlaps_of(
    database: Database, source: CollectedSource, search: SearchSettings
) -> tuple[Overlaps, list[State[Overlaps]]]:
    """Return the overlaps of a source's search, or why they cannot be computed, and the step."""
    state = find_overlaps(database, source, search, return_state=True)
    try:
        return state.result(), [state]
    except StoreError as error:
        get_run_logger().warning("no overlap of encoders: %s", error)
        return Overlaps(by_encoder={}, queries=0, problem=str(error)), []


@stage(
    "overlap",
    "compare the encoders' candidates of {source.main.name}",
    key=lambda p: digest(
        "overlap", p.database.store_id, p.source.main.fingerprint, p.source.search.search_id
    ),
    retries=VECTORS_AWAY,  # without `is_valid`: the result is complete
)
def find_overlaps(database: Database, source: CollectedSource, search: SearchSettings) -> Overlaps:
    """Search all codes by each encoder alone, and compare with the stored candidates.

    Raises:
        StoreError: Vectors are missing, or a query has no candidates.
    """
    queries = [query.query_id for query in corpus.load_queries(database, source.main.name)]
    sums = dict.fromkeys(search.encoders, 0.0)
    stored = {
        name: stored_vectors(database, source.main.name, name, "query") for name in search.encoders
    }
    with progress(
        artifact_key("overlap", source.main.name), "queries searched", len(queries)
    ) as bar:
        for batch in batched(queries, _batch_size(stored, queries, search)):
            together = figures.candidates_of(database, source.search.search_id, batch)
            if len(together) < len(batch):
                raise StoreError("some queries have no candidates yet; run `cosqa collect` first")
            vectors = {name: rows.load(batch) for name, rows in stored.items()}
            shares = _shares(database, source.main.name, vectors, batch, together)
            sums = {name: sums[name] + shares[name] for name in sums}
            bar.advance(len(batch))
    means = {encoder: total / max(len(queries), 1) for encoder, total in sums.items()}
    return Overlaps(by_encoder=means, queries=len(queries))


def _batch_size(
    stored: Mapping[str, StoredVectors], queries: Sequence[QueryId], search: SearchSettings
) -> int:
    """Return how many queries are searched at once, by each encoder apart."""
    if not queries:
        return 1
    dimensions = sum(rows.load(queries[:1]).shape[1] for rows in stored.values())
    return queries_at_once(dimensions, 1, len(stored) * search.top_k, search.memory_mb)


def _shares(
    database: Database,
    collection: str,
    vectors: Mapping[str, Vectors],
    queries: Sequence[QueryId],
    together: Mapping[QueryId, Sequence[CodeId]],
) -> dict[str, float]:
    """Return encoder → the sum over queries of the share of ``together`` that it finds alone."""
    ids = corpus.code_ids(database, collection)
    codes = open_codes(database, collection, list(vectors))
    depth = max(map(len, together.values()))
    sums = {}
    for name, hits in search_apart(vectors, codes, depth).items():
        sums[name] = 0.0
        for query, positions in zip(queries, hits.positions.tolist(), strict=True):
            alone = {ids[position] for position in positions[: len(together[query])]}
            sums[name] += len(alone.intersection(together[query])) / len(together[query])
    return sums
