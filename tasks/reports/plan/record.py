"""What an annotation run is to do, and what that is expected to take."""

from infra.ids import RecipeId
from infra.records import Record
from infra.settings import Reason
from tasks.forecast.pairs import Expected


class Cause(Record):
    """A part of the recipe that has changed, and how many pairs are pending for that."""

    part: str
    pairs: int


class ReasonPlan(Record):
    """The pairs that are pending for one reason.

    Attributes:
        reason: The reason.
        pending: Pairs that wait to be judged, over all labelling rounds.
        taken: Those that the run judges.
        by_round: Those of each labelling round; none of an audit, which is of no round.
        not_due: Failed pairs that are not due for another try yet; they are not pending.
        causes: Of stale pairs, which parts of the recipe changed since; a pair can have several.
        expected: What the taken ones are expected to take; None if none is taken.
    """

    reason: Reason
    pending: int
    taken: int
    by_round: tuple[int, ...] = ()
    not_due: int = 0
    causes: tuple[Cause, ...] = ()
    expected: Expected | None = None


class RunPlan(Record):
    """What an annotation run is to do.

    Attributes:
        plan_id: Its id in the store; empty where it was not stored.
        collection: Whose candidates are judged.
        recipe_id: The recipe that judges them, of the first labelling round.
        model: Its model; of several judges all their models.
        configuration: Its configuration of agents.
        rounds: Number of labelling rounds.
        judges: Number of judges, 0 where `llm.model` judges.
        candidates: Pairs of the search and of pools, over all rounds and judges.
        fresh: Those whose label is that of the recipe, or would be the same.
        without_code: Those whose code the collection no longer has: they cannot be judged.
        canaries: Pairs with known labels that are judged besides.
        reasons: Why pairs are pending, the most urgent first, then those that are not taken.
        expected: What the run is expected to take, canaries included.
        basis: Where these figures come from.
        budget_usd: What the run may cost; None is no limit of its own.
    """

    plan_id: str = ""
    collection: str
    recipe_id: RecipeId
    model: str
    configuration: str
    rounds: int = 1
    judges: int = 0
    candidates: int
    fresh: int
    without_code: int = 0
    canaries: int = 0
    reasons: tuple[ReasonPlan, ...]
    expected: Expected
    basis: str
    budget_usd: float | None = None

    @property
    def pending(self) -> int:
        """Pairs that wait to be judged."""
        return sum(item.pending for item in self.reasons)

    @property
    def taken(self) -> int:
        """Pairs that the run judges, without canaries."""
        return sum(item.taken for item in self.reasons)

    @property
    def usd(self) -> float | None:
        """Expected cost; None is unknown."""
        return None if self.expected.usd is None else self.expected.usd.expected
