"""The pending pairs of a labelling round, and which of them the settings let a run judge."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from infra.ids import SearchId
from infra.settings import Reason, Settings
from infra.store import Database, candidates, corpus
from infra.store.labels import CurrentLabels
from infra.store.pending import PendingCounts, Retries, Selection, count_pending
from tasks.stages.annotate.cost import cost_of_pair
from tasks.stages.annotate.languages import refuse_others
from tasks.stages.annotate.rounds import AnnotationRun
from tasks.stages.coverage import coverage_of

_LONGEST_DELAY_S = 86_400.0

_ROUNDING = 1e-9  # of a number of pairs


class Taken(NamedTuple):
    """What a round takes for a reason.

    Attributes:
        reason: The reason.
        pairs: Number of its pairs.
        usd: What they are expected to cost in US dollars, of a reason with a budget.
    """

    reason: Reason
    pairs: int
    usd: float = 0.0


class RoundPending(NamedTuple):
    """The candidates of a round: which are fresh, and which are pending for what.

    Attributes:
        selection: The candidates.
        counts: Their numbers.
    """

    selection: Selection
    counts: PendingCounts

    @property
    def pending(self) -> dict[Reason, int]:
        """Reason → pairs that are due."""
        numbers: Counter[Reason] = Counter()
        for group in self.counts.groups:
            if group.due:
                numbers[group.reason] += group.pairs
        return dict(numbers)

    @property
    def not_due(self) -> int:
        """Failed pairs that have to wait."""
        return sum(group.pairs for group in self.counts.groups if not group.due)


def pending_of(database: Database, run: AnnotationRun) -> RoundPending:
    """Return the pending pairs of a search, and of its collection's pools, in a labelling round.

    Of a pool, its own alone.

    Raises:
        SettingsError: The collection has code in a language that the agents do not know.
    """
    search, collection = run.search, run.search.collection
    refuse_others(collection, corpus.languages_of(database, collection))
    pools = candidates.pools_of(database, collection)
    own = SearchId("") if search.search_id in pools else search.search_id
    searches = (own, *pools) if own else (own, search.search_id)
    labels = CurrentLabels(
        collection=collection,
        search_ids=searches,
        coverage=coverage_of(database, collection, searches, run.body),
    )
    policy = run.settings.reannotation
    selection = Selection(
        search_id=own,
        recipe_id=run.recipe.recipe_id,
        labels=labels,
        labelling_round=run.recipe.labelling_round,
        draw=run.settings.annotation.draw,
        retries=Retries()
        if policy.retry_all
        else Retries(
            after_s=policy.retry_after_s, longest_s=_LONGEST_DELAY_S, max_tries=policy.max_tries
        ),
    )
    return RoundPending(selection, count_pending(database, selection))


def taken_pairs(
    database: Database,
    pending: RoundPending,
    run: AnnotationRun,
    before: Sequence[Taken] = (),
) -> list[Taken]:
    """Return the reasons that a round takes, in their order, each with its number of pairs.

    A reason's limit and budget hold first, then the run's number of pairs. These are of all rounds:
    each takes an equal part of what those before have left, of a budget in dollars the pairs that
    this pays for.

    Args:
        database: The store.
        pending: The pending pairs of the round.
        run: The round, and what its run takes.
        before: What the earlier rounds of the run take.
    """
    policy, numbers = run.settings.reannotation, pending.pending
    done: Counter[Reason] = Counter()
    spent: defaultdict[Reason, float] = defaultdict(float)
    for item in before:
        done[item.reason] += item.pairs
        spent[item.reason] += item.usd
    rounds = run.settings.annotation.rounds - run.recipe.labelling_round + 1
    usd = _usd_of_pair(database, run.settings) if policy.budgets_usd else 0.0
    limits = {reason: limit - done[reason] for reason, limit in policy.limits.items()}
    budgets = by_budget(policy.budgets_usd, usd, spent)
    most = {
        reason: share(min(bounds), rounds)
        for reason in policy.take
        if (bounds := [of[reason] for of in (limits, budgets) if reason in of])
    }
    left = sum(numbers.values())
    if policy.pairs is not None:
        left = share(policy.pairs - done.total(), rounds)
    return [
        Taken(reason, number, number * usd if reason in policy.budgets_usd else 0.0)
        for reason, number in within(numbers, policy.take, most, left)
    ]


def share(left: int, rounds: int) -> int:
    """Return what the next of so many rounds takes of what is left: an equal part, rounded up."""
    return max(0, -(-left // rounds))


def within(
    numbers: Mapping[Reason, int],
    take: Sequence[Reason],
    most: Mapping[Reason, int],
    left: int,
) -> list[tuple[Reason, int]]:
    """Return the taken reasons, in their order, with the pairs that the limits leave of them.

    Args:
        numbers: Reason → pending pairs.
        take: The reasons taken.
        most: Reason → the most pairs of it; all where it is not named.
        left: The most pairs of all.
    """
    taken: list[tuple[Reason, int]] = []
    for reason in take:
        pending = numbers.get(reason, 0)
        number = min(pending, left, most.get(reason, pending))
        if number:
            taken.append((reason, number))
        left -= number
    return taken


def _usd_of_pair(database: Database, settings: Settings) -> float:
    """Return the expected US dollars of a pair, 0 where they are unknown."""
    usd = cost_of_pair(database, settings).means.usd
    return usd.mean if usd else 0.0


def by_budget(
    budgets_usd: Mapping[Reason, float], usd_of_pair: float, spent_usd: Mapping[Reason, float]
) -> dict[Reason, int]:
    """Return reason → pairs that what is left of its budget is expected to pay for.

    A budget of nothing takes none, also of a model that costs nothing.

    Args:
        budgets_usd: Reason → its budget.
        usd_of_pair: What one pair is expected to cost; 0 bounds no other budget.
        spent_usd: Reason → what earlier rounds are expected to cost.
    """
    numbers = {}
    for reason, budget in budgets_usd.items():
        if usd_of_pair:
            left = max(0.0, budget - spent_usd.get(reason, 0.0))
            numbers[reason] = int(left / usd_of_pair + _ROUNDING)
        elif not budget:
            numbers[reason] = 0
    return numbers
