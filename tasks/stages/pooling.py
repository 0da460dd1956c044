"""Pool deepening: what stands high and was never judged becomes candidates for the agents."""

from collections.abc import Sequence

from prefect import task
from prefect.logging import get_run_logger

from agents import check_model
from infra.errors import PublishError
from infra.identity import digest, digest_of_set
from infra.records import Candidate, SearchId
from infra.settings import Settings
from infra.store import Database, annotations, benchmarks, candidates, open_database
from infra.store.benchmarks import Published
from tasks.benchmarks import qrels_of
from tasks.reports.leaderboard import Unjudged
from tasks.reports.leaderboard.pooling import DEPTH
from tasks.runtime.references import AnnotationReference, SearchReference
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.labels import AGENTS
from tasks.stages.leaderboard import Contest


def check_deepening(contest: Contest, settings: Settings) -> None:
    """See, before methods rank for hours, that the agents could judge what they leave unjudged.

    Raises:
        PublishError: See `deepen_pool`.
        SettingsError: The language model's name or key cannot be right.
        EngineUnavailableError: No Docker engine answers.
        ImageMissingError: The sandbox image is not there.
    """
    _published(open_database(settings.store), contest, settings)
    check_model(settings.llm)
    current_recipe(settings)


def _published(database: Database, contest: Contest, settings: Settings) -> Published:
    published = benchmarks.find_benchmark(database, contest.benchmark_id)
    if published is None or not published.collection:
        raise PublishError(
            f"{contest.folder} was not published from the store in {settings.store.folder}: its "
            "unjudged results can only be listed; give the store that it comes from with --store"
        )
    return published


@task(name="deepen-pool")
def deepen_pool(
    contest: Contest, unjudged: Sequence[Unjudged], settings: Settings
) -> SearchReference:
    """Enter unjudged results as the candidates of a search of their own.

    Their similarity is the reciprocal of their best rank, since methods' scores have no common
    scale.

    Raises:
        PublishError: The benchmark was not published from this store, which lacks its texts.
    """
    database = open_database(settings.store)
    published = _published(database, contest, settings)
    pairs = digest_of_set(f"{pair.query_id} {pair.code_id}" for pair in unjudged)
    search_id = SearchId(digest("pool", contest.benchmark_id, pairs))
    methods = sorted({method for pair in unjudged for method in pair.methods})
    candidates.record_search(database, search_id, published.collection, methods, DEPTH, pool=True)
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
            for pair in unjudged
        ],
    )
    return SearchReference(
        search_id=search_id,
        collection=published.collection,
        queries=len({pair.query_id for pair in unjudged}),
        candidates=len(unjudged),
    )


@task(name="gather-judgements")
def gather_judgements(
    contest: Contest, reference: AnnotationReference, settings: Settings
) -> dict[str, dict[str, float]]:
    """Return query → code → label of what the agents have judged of a benchmark's pool."""
    database = open_database(settings.store)
    _tell_where_they_go(database, contest, reference, settings)
    pairs = candidates.pairs_of(database, [reference.search_id], reference.collection)
    return qrels_of(annotations.agent_labels(database, reference.recipe_id, pairs))


def _tell_where_they_go(
    database: Database, contest: Contest, reference: AnnotationReference, settings: Settings
) -> None:
    published, logger = _published(database, contest, settings), get_run_logger()
    origin = f"{AGENTS}{reference.recipe_id}"
    if published.label_origin == origin:
        logger.info("`cosqa publish` exports the new judgements with those of %s", contest.name)
    else:
        logger.warning(
            "the labels of %s are by %s and the new judgements by %s: `cosqa publish` keeps them "
            "apart, since a benchmark's labels have one origin",
            contest.name, published.label_origin, origin,
        )  # fmt: skip
