"""The overlap of each encoder's own candidates with the ensemble's, computed once for a search."""

from collections.abc import Mapping, Sequence

from prefect import State

from infra.errors import StoreError
from infra.identity import CodeId, QueryId, digest
from infra.records import Record
from infra.settings import SearchSettings
from infra.store import Database, candidates, corpus
from infra.store.vectors import ids_of
from tasks.runtime.caching import VECTORS_AWAY, stage
from tasks.runtime.progress import artifact_key, get_run_logger, progress
from tasks.runtime.references import CollectedSource
from tasks.search.exact import search as search_exactly
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
    collection = source.main.name
    together = candidates.candidates_of(database, source.search.search_id, queries)
    if len(together) < len(queries):
        raise StoreError("some queries have no candidates yet; run `cosqa collect` first")
    shares = {}
    key = artifact_key("overlap", collection)
    with progress(key, "encoders compared", len(search.encoders)) as bar:
        for name in search.encoders:
            shares[name] = overlap(database, collection, name, together)
            bar.advance(1)
    return Overlaps(by_encoder=shares, queries=len(queries))


def overlap(
    database: Database,
    collection: str,
    encoder: str,
    together: Mapping[QueryId, Sequence[CodeId]],
) -> float:
    """Return the mean share of each query's candidates that an encoder finds alone."""
    if not together:
        return 0.0
    ids = corpus.code_ids(database, collection)
    vectors = stored_vectors(database, collection, encoder, "query", ids_of(list(together))).load()
    codes = open_codes(database, collection, [encoder])
    hits = search_exactly({encoder: vectors}, codes, max(map(len, together.values())))
    found = 0.0
    for ours, positions in zip(together.values(), hits.positions.tolist(), strict=True):
        alone = {ids[position] for position in positions[: len(ours)]}
        found += len(alone.intersection(ours)) / len(ours)
    return found / len(together)
