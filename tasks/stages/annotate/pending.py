"""The pending pairs of a labelling round, and which of them the settings let a run judge."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from infra.ids import SearchId
from infra.settings import ReannotationSettings, Reason
from infra.store import Database, candidates
from infra.store.pending import PendingCounts, Retries, Selection, count_pending
from tasks.stages.annotate.run import AnnotationRun
from tasks.stages.coverage import labels_by

_LONGEST_DELAY_S = 86_400.0


class Taken(NamedTuple):
    """What a round takes for a reason.

    Attributes:
        reason: The reason.
        pairs: Number of its pairs.
    """

    reason: Reason
    pairs: int


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


@dataclass(frozen=True)
class CountedRun:
    """A run whose pending pairs are counted, which is done once.

    Attributes:
        run: The run.
        pending: The pending pairs of each round.
    """

    run: AnnotationRun
    pending: tuple[RoundPending, ...]

    @property
    def taken(self) -> list[list[Taken]]:
        """What each round takes for which reasons, by the run's policy."""
        rounds: list[list[Taken]] = []
        for of_round, pending in zip(self.run.rounds, self.pending, strict=True):
            before = [item for former in rounds for item in former]
            rounds.append(taken_pairs(pending, of_round, before))
        return rounds

    def bounded(self, policy: ReannotationSettings) -> "CountedRun":
        """Return the same by another policy."""
        return replace(self, run=replace(self.run, policy=policy))


def counted(database: Database, run: AnnotationRun) -> CountedRun:
    """Count the pending pairs of a run's rounds."""
    return CountedRun(run, tuple(pending_of(database, of_round) for of_round in run.rounds))


def pending_of(database: Database, run: AnnotationRun) -> RoundPending:
    """Return the pending pairs of a search, and of its collection's pools, in a labelling round.

    Of a pool, its own alone.
    """
    search, collection = run.search, run.search.collection
    pools = candidates.pools_of(database, collection)
    own = SearchId("") if search.search_id in pools else search.search_id
    searches = (own, *pools) if own else (own, search.search_id)
    recipe_id = run.recipe.recipe_id
    labels = labels_by(database, collection, searches, [recipe_id], {recipe_id: run.body})
    policy = run.policy
    selection = Selection(
        search_id=own,
        recipe_id=recipe_id,
        labels=labels,
        labelling_round=run.recipe.labelling_round,
        draw=run.committee.annotation.draw,
        retries=Retries()
        if policy.retry_all
        else Retries(
            after_s=policy.retry_after_s, longest_s=_LONGEST_DELAY_S, max_tries=policy.max_tries
        ),
    )
    return RoundPending(selection, count_pending(database, selection))


def taken_pairs(
    pending: RoundPending, run: AnnotationRun, before: Sequence[Taken] = ()
) -> list[Taken]:
    """Return the reasons that a round takes, in their order, each with its number of pairs.

    A reason's limit holds first, then the run's number of pairs. Both are of all rounds: each takes
    an equal part of what those before have left.

    Args:
        pending: The pending pairs of the round.
        run: The round, and what its run takes.
        before: What the earlier rounds of the run take.
    """
    policy, numbers = run.policy, pending.pending
    done: Counter[Reason] = Counter()
    for item in before:
        done[item.reason] += item.pairs
    rounds = run.committee.annotation.rounds - run.recipe.labelling_round + 1
    most = {
        reason: share(policy.limits[reason] - done[reason], rounds)
        for reason in policy.take
        if reason in policy.limits
    }
    left = sum(numbers.values())
    if policy.pairs is not None:
        left = share(policy.pairs - done.total(), rounds)
    return [Taken(*item) for item in within(numbers, policy.take, most, left)]


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
