"""What ``cosqa annotate --dry-run`` says: the pairs left to judge, and what they may cost."""

from collections import Counter
from statistics import fmean

from agents.llm.batch.messages import BATCH_PROVIDERS, WAY_OUT, check_batches
from agents.llm.batch.prices import batch_share
from infra.errors import SandboxError, SettingsError
from infra.records import Code, Query, Record
from infra.settings import LanguageModelSettings, Settings
from infra.store import Database, annotations, corpus, open_database
from tasks.forecast.annotation import cost_of_pair
from tasks.runtime.input_checks import with_named_encoders
from tasks.runtime.references import RecipeReference, SearchReference
from tasks.sources import open_source
from tasks.stages.annotate.effort import at_most, price_of
from tasks.stages.annotate.pending import pending_of
from tasks.stages.annotate.plan import current_recipe, rounds_of
from tasks.stages.candidates import search_identity

NO_AGENTS = (
    "annotation.agents is false, since the source's own labels are published; "
    "COSQA_ANNOTATION__AGENTS=true lets the agents judge candidates too"
)


class PairsLeft(Record):
    """Number of pairs of a run, and their expected cost; None is unknown.

    Attributes:
        queries: Number of queries whose candidates are judged.
        pairs: Number of pairs of these queries.
        finished: Number of judgements that are made already, over all labelling rounds or judges,
            with those that need not be made, since no judge before left the pair in doubt.
        cost_per_pair_usd: Mean over the pairs that this recipe judged before, else by litellm's
            price of the model, else the paper's; by batches the share of it that they cost.
        basis: How the cost was estimated, in words.
        demo_pairs: Pairs that the demo model judges in all; None for other models.
        rounds: Number of labelling rounds, in each of which every pair is judged, or of judges.
    """

    queries: int
    pairs: int
    finished: int
    cost_per_pair_usd: float | None
    basis: str
    demo_pairs: int | None = None
    rounds: int = 1

    @property
    def pending(self) -> int:
        """Number of judgements left to make, over all rounds."""
        return self.pairs * self.rounds - self.finished

    @property
    def to_judge(self) -> int:
        """Pairs that the next run judges: all that are left, of a demo model a few."""
        if self.demo_pairs is None:
            return self.pending
        return min(self.pending, max(0, self.demo_pairs * self.rounds - self.finished))

    @property
    def cost_usd(self) -> float | None:
        """Expected cost of the pending pairs."""
        return None if self.cost_per_pair_usd is None else self.cost_per_pair_usd * self.pending


def count_pairs_left(settings: Settings) -> PairsLeft:
    """Return the number of pairs to judge by these settings, and their expected cost.

    No store is made: without one, the source is read.

    Raises:
        SourceError: An input file is missing or malformed.
        SettingsError: Batches are asked for of a model that takes none.
    """
    if not settings.annotation.agents:
        return PairsLeft(queries=0, pairs=0, finished=0, cost_per_pair_usd=0.0, basis=NO_AGENTS)
    settings = with_named_encoders(settings)  # folders that stand in for them make another search
    database = open_database(settings.store) if settings.store.database.is_file() else None
    collection, queries, codes = _size(database, settings)
    limited = min(queries, settings.annotation.limit or queries)
    finished, seen_cost = _finished(database, collection, settings)
    cost, basis = _cost_of_pair(seen_cost, settings)
    is_demo = settings.by_judge[0].llm.is_demo
    return PairsLeft(
        queries=limited,
        pairs=limited * min(settings.search.top_k, codes),
        finished=finished,
        cost_per_pair_usd=cost,
        basis=basis,
        demo_pairs=settings.annotation.demo_pairs if is_demo else None,
        rounds=settings.annotation.times,
    )


def _finished(
    database: Database | None, collection: str, settings: Settings
) -> tuple[int, float | None]:
    """Return the judgements that are made, and their mean cost; None where none tells it."""
    if not database or not collection:
        return 0, None
    try:
        recipe = current_recipe(settings)
    except SandboxError:
        return 0, None  # without an engine nothing can have been finished under this recipe
    return _history(database, collection, recipe, settings)


def _cost_of_pair(seen: float | None, settings: Settings) -> tuple[float, str]:
    """Return the expected cost of a pair in dollars, by what was seen so far, and its basis."""
    judges = settings.by_judge
    if judges[0].llm.is_free:
        return 0.0, "no provider is asked"
    if seen is None:
        costs = [cost_of_pair(None, price_of(judge.llm.model)) for judge in judges]
        cost = fmean(usd for usd, _ in costs)
        basis = "; ".join(dict.fromkeys(why for _, why in costs))
    else:
        cost, basis = seen, "mean over the pairs judged so far by this recipe"
    return _as_asked_for(cost, at_most(basis, settings), judges[0])


def takes_batches(model: LanguageModelSettings) -> bool:
    """Return whether a model's provider has a batch API that is known here."""
    try:
        check_batches(model)
    except Exception:  # noqa: BLE001 - litellm's own for a model that it does not know
        return False
    return True


def no_batches(model: LanguageModelSettings) -> str:
    """Return why a model's requests cannot be forecast by batches, with the way out."""
    return f"llm.model {model.model} is of none of {', '.join(BATCH_PROVIDERS)}: {WAY_OUT}"


def _as_asked_for(cost: float, basis: str, settings: Settings) -> tuple[float, str]:
    """Return the cost of a pair as the settings ask for it: by batches a share of the usual one."""
    if not settings.annotation.batch:
        return cost, basis
    if not takes_batches(settings.llm):
        raise SettingsError(no_batches(settings.llm))
    batch = batch_share(settings.llm.model)
    return cost * batch.share, f"{basis}, times {batch.share:g} for batches: {batch.basis}"


def _size(database: Database | None, settings: Settings) -> tuple[str, int, int]:
    """Return the collection's name, "" where it is not stored; its queries and its codes."""
    source = open_source(settings.source)
    for held in corpus.collections_of(database, source.fingerprint()) if database else ():
        if held.is_annotated:
            return held.name, held.queries, held.codes
    content = next(iter(source.read().values()))
    kinds = Counter(type(item) for item in content.items())
    return "", kinds[Query], kinds[Code]


def _history(
    database: Database, collection: str, recipe: RecipeReference, settings: Settings
) -> tuple[int, float | None]:
    """Return the judgements made in all rounds, and the mean cost of those made so far.

    What batches cost counts as if each request had been sent by itself.
    """
    search_id = search_identity(database, collection, settings.search)
    search = SearchReference(search_id=search_id, collection=collection, queries=0, candidates=0)
    of_rounds = rounds_of(recipe, settings)
    counts = [
        pending_of(database, search, item, item.settings(settings), ahead=True).counts
        for item in of_rounds
    ]
    without_doubt = [counts[0].candidates - item.candidates for item in counts]
    finished = sum(item.fresh for item in counts) + sum(without_doubt)
    rounds = [item.recipe_id for item in of_rounds]
    effort = annotations.effort(database, rounds, [search_id])
    by_status = annotations.count_by(database, rounds, [search_id], "status")
    judged = sum(by_status.values()) - by_status.get("failed", 0)
    if effort.cost_usd is None or not judged or effort.calls == effort.cached_calls:
        return finished, None
    batches = annotations.batch_cost(database, rounds, [search_id])
    share = batch_share(settings.by_judge[0].llm.model).share
    usual = batches / share if batches else 0.0
    return finished, (effort.cost_usd - batches + usual) / judged
