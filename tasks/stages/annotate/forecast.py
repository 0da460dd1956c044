"""What a run would have to do and what it may cost, without doing any of it."""

from infra.errors import SandboxError
from infra.records import Record
from infra.settings import Settings
from infra.store import Database, annotations, candidates, corpus, open_database
from tasks.sources import open_source
from tasks.stages.annotate.plan import recipe_identity
from tasks.stages.candidates import search_identity

# CoSQA+ paper: 412,080 pairs for $257 in all.
PAPER_COST_PER_PAIR_USD = 257 / 412_080


class Estimate(Record):
    """Pairs of a run and their expected cost; None is unknown.

    Attributes:
        queries: Queries whose candidates are judged.
        pairs: Pairs of these queries.
        finished: Pairs that need no work.
        cost_per_pair_usd: Mean over the pairs that this recipe judged before, else the paper's.
        basis: Where the cost comes from, in words.
    """

    queries: int
    pairs: int
    finished: int
    cost_per_pair_usd: float | None
    basis: str

    @property
    def pending(self) -> int:
        """Pairs that are left to judge."""
        return self.pairs - self.finished

    @property
    def cost_usd(self) -> float | None:
        """Expected cost of the pending pairs."""
        return None if self.cost_per_pair_usd is None else self.cost_per_pair_usd * self.pending


def estimate(settings: Settings) -> Estimate:
    """Return how many pairs the settings mean, how many are left, and what they may cost.

    Raises:
        SourceError: An input file is missing or malformed.
    """
    database = open_database(settings.store)
    collection, queries, codes = _size(database, settings)
    limited = min(queries, settings.annotation.limit or queries)
    pairs = limited * min(settings.search.top_k, codes)
    finished, cost, basis = 0, None, ""
    try:
        recipe_id, _ = recipe_identity(settings)
    except SandboxError:
        recipe_id = ""  # without an engine nothing can have been finished under this recipe
    if collection and recipe_id:
        finished, cost = _history(database, collection, recipe_id, settings)
        basis = "mean over the pairs judged so far by this recipe"
    if settings.llm.is_demo:
        cost, basis = 0.0, "the embedded model runs on this machine"
    elif cost is None:
        cost, basis = PAPER_COST_PER_PAIR_USD, "the CoSQA+ paper's mean, with its model"
    return Estimate(
        queries=limited, pairs=pairs, finished=finished, cost_per_pair_usd=cost, basis=basis
    )


def _size(database: Database, settings: Settings) -> tuple[str, int, int]:
    source = open_source(settings.source)
    for held in corpus.collections_of(database, source.fingerprint()):
        if held.for_agents:
            return held.name, held.queries, held.codes
    content = next(iter(source.read().values()))
    return "", len(content.queries), len(content.codes)


def _history(
    database: Database, collection: str, recipe_id: str, settings: Settings
) -> tuple[int, float | None]:
    search_id = search_identity(database, collection, settings.search)
    found = candidates.load_candidates(database, search_id, collection, settings.annotation.limit)
    done = annotations.finished_pairs(database, recipe_id)
    finished = sum((item.query_id, item.code_id) in done for item in found)
    effort = annotations.effort(database, recipe_id, search_id)
    known = effort.cost_usd is not None and finished and effort.calls > effort.cached_calls
    return finished, (effort.cost_usd or 0.0) / finished if known else None
