"""The overlap of each encoder's own candidates with the ensemble's, computed once for a search."""

from collections.abc import Mapping, Sequence

import numpy as np
from prefect.logging import get_run_logger

from infra.batches import batched
from infra.errors import StoreError
from infra.identity import digest
from infra.ids import CodeId, QueryId
from infra.records import Record
from infra.settings import SearchSettings
from infra.store import Database, corpus, studies
from tasks.runtime.caching import stage
from tasks.runtime.progress import progress
from tasks.runtime.references import CollectedSource
from tasks.stages.vectors import code_blocks, stored_vectors

_QUERY_BATCH = 2048


class Overlaps(Record):
    """Mean overlaps over ``queries`` queries.

    Attributes:
        by_encoder: Encoder → mean share of the ensemble's candidates that it finds alone.
        problem: Why there are none; empty where there are.
    """

    by_encoder: dict[str, float]
    queries: int
    problem: str = ""


def overlaps_of(database: Database, source: CollectedSource, search: SearchSettings) -> Overlaps:
    """Return the overlaps of a source's search, or why they cannot be computed."""
    try:
        return find_overlaps(database, source, search)
    except StoreError as error:
        get_run_logger().warning("no overlap of encoders: %s", error)
        return Overlaps(by_encoder={}, queries=0, problem=str(error))


@stage(
    "overlap",
    "overlap-{source.main.name}",
    key=lambda p: digest(
        "overlap", p.database.store_id, p.source.main.fingerprint, p.source.search.search_id
    ),
    is_valid=lambda _: True,  # the result holds all there is
)
def find_overlaps(database: Database, source: CollectedSource, search: SearchSettings) -> Overlaps:
    """Search all codes by each encoder alone, and compare with the stored candidates.

    Raises:
        StoreError: Vectors are missing, or a query has no candidates.
    """
    queries = [query.query_id for query in corpus.load_queries(database, source.main.name)]
    sums = dict.fromkeys(search.encoders, 0.0)
    with progress("overlap", "queries searched", len(queries)) as bar:
        for batch in batched(queries, _QUERY_BATCH):
            together = studies.candidates_of(database, source.search.search_id, batch)
            if len(together) < len(batch):
                raise StoreError("some queries have no candidates yet; run `cosqa collect` first")
            for encoder in search.encoders:
                sums[encoder] += _sum(database, source.main.name, encoder, batch, together)
            bar.advance(len(batch))
    means = {encoder: total / max(len(queries), 1) for encoder, total in sums.items()}
    return Overlaps(by_encoder=means, queries=len(queries))


def _sum(
    database: Database,
    collection: str,
    encoder: str,
    queries: Sequence[QueryId],
    together: Mapping[QueryId, Sequence[CodeId]],
) -> float:
    """Return the sum over queries of the share of ``together`` that the encoder finds alone."""
    # FAISS takes a second to import, and a run whose overlaps are cached does not need it.
    from tasks.ranking.dense import rank_vectors  # noqa: PLC0415

    vectors = stored_vectors(database, collection, encoder, "query").load(queries)
    ids = np.asarray(corpus.code_ids(database, collection))
    blocks = (
        (ids[some].tolist(), by_encoder[encoder])
        for some, by_encoder in code_blocks(database, collection, [encoder])
    )
    depth = max(map(len, together.values()))
    ranked = rank_vectors(vectors, blocks, queries, depth)
    total = 0.0
    for query, codes in zip(queries, ranked.codes.tolist(), strict=True):
        alone = {ranked.code_ids[code] for code in codes[: len(together[query])]}
        total += len(alone.intersection(together[query])) / len(together[query])
    return total
