"""The plan of an annotation run in words: a sentence, the rows of a table, and a page."""

from collections.abc import Callable

from infra.markdown import markdown_table, markdown_text
from infra.settings.reannotation import REASON_SUMMARIES
from tasks.forecast.pairs import Amount, Expected
from tasks.reports.plan.record import ReasonPlan, RunPlan
from tasks.reports.text import NONE, UNKNOWN, cost, duration, words

HEADER = ("reason", "pairs", "taken", "requests", "tokens", "cost", "time")


def plan_sentence(plan: RunPlan) -> str:
    """Return the plan in a sentence: "240 of 412 pairs of stdlib: stale 200, new queries 40"."""
    reasons = ", ".join(
        f"{words(item.reason)} {item.taken:,}" for item in plan.reasons if item.taken
    )
    of = f"{plan.taken:,} of {plan.pending:,} pending pairs of {plan.collection}"
    return f"{of}: {reasons}" if reasons else of


def plan_rows(plan: RunPlan) -> list[tuple[str, ...]]:
    """Return the cells of the plan's table, see `HEADER`: a row for each reason, and the sum."""
    rows = [_row(item) for item in plan.reasons]
    total = (f"{plan.pending:,}", f"{plan.taken:,}")
    named = f"in all, with {plan.canaries} canaries" if plan.canaries else "in all"
    return [*rows, (named, *total, *_amounts(plan.expected))]


def _row(item: ReasonPlan) -> tuple[str, ...]:
    figures = _amounts(item.expected) if item.expected else (NONE,) * 4
    return (words(item.reason), f"{item.pending:,}", f"{item.taken:,}", *figures)


def _amounts(expected: Expected) -> tuple[str, str, str, str]:
    return (
        amount(expected.requests),
        amount(expected.tokens),
        dollars(expected.usd),
        minutes(expected.minutes),
    )


def amount(value: Amount) -> str:
    """Return a number with its interval: "1,200 (1,100 to 1,300)"."""
    return _with_ends(value, lambda number: f"{number:,.0f}")


def dollars(value: Amount | None) -> str:
    """Return an amount of money with its interval, if it is known."""
    return UNKNOWN if value is None else _with_ends(value, cost)


def minutes(value: Amount) -> str:
    """Return a time with its interval."""
    return _with_ends(value, lambda number: duration(60 * number))


def plan_notes(plan: RunPlan) -> list[str]:
    """Return what the table leaves open: which parts changed, what waits, what is left out."""
    found = []
    for item in plan.reasons:
        if item.causes:
            parts = ", ".join(f"{cause.part} {cause.pairs:,}" for cause in item.causes)
            found.append(f"{words(item.reason)}, by what has changed since: {parts}")
        if item.not_due:
            found.append(
                f"{item.not_due:,} failed pairs are not due yet: `cosqa annotate --reason failed`, "
                'or "Failed pairs that are not due too" in the form of annotate, takes them now'
            )
    if plan.without_code:
        found.append(
            f"{plan.without_code:,} pairs are skipped: their code is not in {plan.collection}"
        )
    if plan.budget_usd is not None:
        found.append(f"the run ends when {cost(plan.budget_usd)} are spent")
    return [*found, f"requests, tokens, cost and time: {plan.basis}"]


def plan_markdown(plan: RunPlan) -> str:
    """Return the page: what is to be judged, why, and what it is expected to take."""
    rounds = f" in each of {plan.rounds} rounds" if plan.rounds > 1 else ""
    rounds = f" over {plan.judges} judges" if plan.judges > 1 else rounds
    judged = (
        f"{plan.candidates:,} candidates{rounds}, {plan.fresh:,} with a fresh label; "
        f"{plan.model} ({plan.configuration}) judges."
    )
    listed = [item for item in plan.reasons if item.pending]
    about = [f"- {words(item.reason)}: {REASON_SUMMARIES[item.reason]}" for item in listed]
    parts = [
        f"# {markdown_text(plan_sentence(plan))}",
        markdown_text(judged),
        markdown_table(HEADER, plan_rows(plan)),
        "\n".join(markdown_text(line) if line[0] != "-" else line for line in about),
        "\n".join(f"- {markdown_text(note)}" for note in plan_notes(plan)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _with_ends(value: Amount, text: Callable[[float], str]) -> str:
    if value.low is None or value.high is None:
        return f"about {text(value.expected)}"
    low, high = text(value.low), text(value.high)
    return text(value.expected) if low == high else f"{text(value.expected)} ({low} to {high})"
