"""The plan of an annotation run: pairs by reason, tokens, money, minutes."""

from collections.abc import Callable, Sequence

from pydantic import Field

from infra.identity import RecipeId
from infra.records import Record
from infra.settings import REASON_SUMMARIES, Reason
from infra.summaries import ReasonSpending
from tasks.reports.document import Document, Items, Paragraph, Table
from tasks.reports.text import UNKNOWN, counted, format_cost, format_duration, format_words
from tasks.statistics.intervals import Interval


class Amount(Record):
    """An expected amount, and its 95% interval; None where nothing like it was measured."""

    expected: float
    interval: Interval | None = None


class Expected(Record):
    """The expected cost of pairs; dollars and minutes None are unknown, which is not 0.

    Attributes:
        basis: Where these figures come from.
    """

    tokens: Amount
    usd: Amount | None
    minutes: Amount | None
    basis: str


class ReasonPlan(Record):
    """The pairs that are pending for one reason.

    Attributes:
        reason: The reason.
        pending: Pairs that wait to be judged, over all labelling rounds.
        taken: Those that the run judges.
        not_due: Failed pairs that are not due for another try yet; they are not pending.
        causes: Part of the recipe that changed → stale pairs; a pair can have several.
    """

    reason: Reason
    pending: int
    taken: int
    not_due: int = 0
    causes: dict[str, int] = Field(default_factory=dict)


class RunPlan(Record):
    """The plan of an annotation run.

    Attributes:
        collection: Whose candidates are judged.
        recipe_id: The recipe that judges them, of the first labelling round.
        model: Its model.
        configuration: Its configuration of agents.
        rounds: Number of labelling rounds.
        candidates: Pairs of the search and of pools, over all rounds.
        fresh: Those whose label is that of the recipe, or would be the same.
        without_code: Those whose code the collection no longer has: they cannot be judged.
        gold: Pairs with known labels that are judged besides.
        reasons: Why pairs are pending, the most urgent first, then those that are not taken.
        expected: What the run is expected to take, gold questions included.
        budget_usd: What the run may cost; None is no limit of its own.
    """

    collection: str
    recipe_id: RecipeId
    model: str
    configuration: str
    rounds: int = 1
    candidates: int
    fresh: int
    without_code: int = 0
    gold: int = 0
    reasons: tuple[ReasonPlan, ...]
    expected: Expected
    budget_usd: float | None = None

    @property
    def pending(self) -> int:
        """Pairs that wait to be judged."""
        return sum(item.pending for item in self.reasons)

    @property
    def taken(self) -> int:
        """Pairs that the run judges, without gold questions."""
        return sum(item.taken for item in self.reasons)


def plan_sentence(plan: RunPlan) -> str:
    """Return the plan in a sentence: "240 of 412 pairs of stdlib: stale 200, new queries 40"."""
    reasons = ", ".join(
        f"{format_words(item.reason)} {item.taken:,}" for item in plan.reasons if item.taken
    )
    of = f"{plan.taken:,} of {plan.pending:,} pending pairs of {plan.collection}"
    return f"{of}: {reasons}" if reasons else of


def plan_table(plan: RunPlan) -> Table:
    """Return a row for each reason, and the sum."""
    named = f"in all, with {counted(plan.gold, 'gold questions')}" if plan.gold else "in all"
    counts = [(format_words(item.reason), item.pending, item.taken) for item in plan.reasons]
    rows = [
        (name, f"{pending:,}", f"{taken:,}")
        for name, pending, taken in (*counts, (named, plan.pending, plan.taken))
    ]
    return Table(("reason", "pairs", "taken"), rows)


def _about(value: Amount | None, text: Callable[[float], str]) -> str:
    """Return an amount with its interval where that is known."""
    if value is None:
        return UNKNOWN
    if value.interval is None:
        return f"about {text(value.expected)}"
    low, high = text(value.interval.low), text(value.interval.high)
    return text(value.expected) if low == high else f"{text(value.expected)} ({low} to {high})"


def plan_notes(plan: RunPlan) -> list[str]:
    """Return the notes of the table: changed parts, waiting and left-out pairs."""
    found = []
    for item in plan.reasons:
        if item.causes:
            parts = ", ".join(f"{part} {pairs:,}" for part, pairs in item.causes.items())
            found.append(f"{format_words(item.reason)}, by what has changed since: {parts}")
        if item.not_due:
            failed = counted(item.not_due, "failed pairs")
            found.append(
                f"not due yet: {failed}; `cosqa annotate --reason failed` takes them now, as does "
                '"failed" among the reasons of its form'
            )
    if plan.without_code:
        found.append(
            f"skipped: {counted(plan.without_code, 'pairs')} whose code is not in {plan.collection}"
        )
    if plan.budget_usd is not None:
        found.append(f"the run ends when {format_cost(plan.budget_usd)} are spent")
    return [*found, expected_note(plan.expected)]


def expected_note(expected: Expected) -> str:
    """Return an expected cost in a line."""
    tokens = _about(expected.tokens, "{:,.0f}".format)
    time = _about(expected.minutes, lambda minutes: format_duration(60 * minutes))
    cost = _about(expected.usd, format_cost)
    return f"expected: tokens {tokens}, cost {cost}, time {time}; {expected.basis}"


def plan_document(plan: RunPlan) -> Document:
    """Return the pairs to be judged, the reasons, and the expected cost."""
    rounds = f" in each of {plan.rounds} rounds" if plan.rounds > 1 else ""
    judged = (
        f"{counted(plan.candidates, 'candidates')}{rounds}, {plan.fresh:,} up to date; "
        f"{plan.model} ({plan.configuration}) judges."
    )
    pending = [item.reason for item in plan.reasons if item.pending]
    about = [Items([f"{format_words(reason)}: {REASON_SUMMARIES[reason]}" for reason in pending])]
    return Document(
        title=plan_sentence(plan),
        lead=[
            Paragraph(judged),
            plan_table(plan),
            *(about if pending else []),
            Items(plan_notes(plan)),
        ],
    )


def spending_document(
    plan: RunPlan, spent: Sequence[ReasonSpending], usd: float | None, ended: Exception | None
) -> Document:
    """Return the document of a run's costs, by the reasons of its pairs.

    Args:
        plan: The plan of the run.
        spent: Costs by round and reason.
        usd: All that the model has cost in the run; None where its price is unknown.
        ended: The error that ended the run before all pairs were judged.
    """
    sums: dict[str, list[ReasonSpending]] = {}
    for each in spent:
        sums.setdefault(each.reason, []).append(each)
    rows = []
    for reason, costs in sums.items():
        usds = [one.usd for one in costs]
        rows.append(
            (
                format_words(reason),
                f"{sum(one.taken for one in costs):,}",
                f"{sum(one.judged for one in costs):,}",
                UNKNOWN if None in usds else format_cost(sum(filter(None, usds))),
            )
        )
    taken, judged = (sum(getattr(each, name) for each in spent) for name in ("taken", "judged"))
    cost = UNKNOWN if usd is None else format_cost(usd)
    limit = "" if plan.budget_usd is None else f" of {format_cost(plan.budget_usd)}"
    rows.append(("in all, with gold questions", f"{taken:,}", f"{judged:,}", cost))
    notes = [Paragraph(f"{ended}. {counted(taken - judged, 'pairs')} wait.")] if ended else []
    return Document(
        title=f"{cost}{limit} spent on {counted(judged, 'pairs')} of {plan.collection}",
        lead=[Table(("reason", "taken", "judged", "cost"), rows), *notes],
    )
