"""Pooling: unjudged results that methods rank high, turned into candidates for the agents."""

from collections.abc import Sequence

from infra.errors import PublishError
from infra.identity import SearchId, digest, digest_of_set
from infra.records import Candidate
from infra.settings import PublishSettings
from infra.store import Database, candidates
from infra.store.corpus import load_queries
from tasks.corpus.written import function_of
from tasks.reports.leaderboard import POOL_DEPTH, Unjudged
from tasks.runtime.caching import stage
from tasks.runtime.references import SearchReference
from tasks.stages.candidates import judged_searches
from tasks.stages.leaderboard import UNJUDGED
from tasks.stages.scoring import OpenBenchmark, leaderboard_folder


def check_pooling(database: Database, benchmark: OpenBenchmark) -> None:
    """Refuse, before any ranking, a benchmark whose texts this store lacks."""
    if not benchmark.published.collection:
        raise PublishError(
            f"{benchmark.published.folder} was not published from the store in "
            f"{database.settings.folder}: its unjudged results can only be listed; give the store "
            "that it was published from with --store"
        )


@stage("add-to-pool", "add unjudged results of {benchmark.name} to its pool")
def add_to_pool(
    database: Database, benchmark: OpenBenchmark, settings: PublishSettings
) -> SearchReference:
    """Store a leaderboard's unjudged results as the candidates of a search of their own.

    Their similarity is the reciprocal of their best rank, since methods' scores have no common
    scale.
    """
    file = leaderboard_folder(benchmark.published, settings) / UNJUDGED
    with file.open(encoding="utf-8") as lines:
        unjudged = [Unjudged.model_validate_json(line) for line in lines]
    return record_pool(
        database, benchmark.benchmark_id, benchmark.published.collection, unjudged, POOL_DEPTH
    )


def unfound_origins(database: Database, search: SearchReference) -> list[Unjudged]:
    """Return pairs of a written query and its function that are no candidates of a search."""
    searches, collection = judged_searches(database, search), search.collection
    found = {*candidates.pairs_of(database, searches, collection)}
    origins = ((each.query_id, function_of(each)) for each in load_queries(database, collection))
    return [
        Unjudged(query_id=query, code_id=code, rank=1, methods=("written",))
        for query, code in origins
        if code and (query, code) not in found
    ]


@stage("pool-origins", "pool functions of {search.collection} that queries were written for")
def pool_origins(database: Database, search: SearchReference) -> SearchReference:
    """Let the agents judge the functions, too, that written queries come from; return the search.

    Else a query might have no match because its function was not found.
    """
    if unfound := unfound_origins(database, search):
        record_pool(database, "written", search.collection, unfound, 1)
    return search


def record_pool(
    database: Database,
    identity: str,
    collection: str,
    pool: Sequence[Unjudged],
    depth: int,
) -> SearchReference:
    """Store pairs as the candidates of a search of their own, and return it.

    They are among so many first results of methods; ``identity`` says whose pool it is.
    """
    pairs = digest_of_set(f"{pair.query_id} {pair.code_id}" for pair in pool)
    search_id = SearchId(digest("pool", identity, pairs))
    methods = sorted({method for pair in pool for method in pair.methods})
    candidates.record_search(database, search_id, collection, methods, depth, pool=True)
    candidates.add_candidates(
        database,
        search_id,
        [
            Candidate(
                query_id=pair.query_id,
                code_id=pair.code_id,
                rank=pair.rank,
                similarity=1 / pair.rank,
                by_encoder={},
            )
            for pair in pool
        ],
    )
    return SearchReference(
        search_id=search_id,
        collection=collection,
        queries=len({pair.query_id for pair in pool}),
        candidates=len(pool),
    )
