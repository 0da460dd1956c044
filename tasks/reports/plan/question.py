"""The plan of an annotation run as a question: what a person sees who is to approve it."""

from infra.markdown import markdown_table, markdown_text
from tasks.reports.plan.markdown import dollars, minutes, plan_notes, plan_sentence
from tasks.reports.plan.record import RunPlan
from tasks.reports.text import NONE, words

_HEADER = ("reason", "pairs", "cost", "time")


def plan_question(plan: RunPlan) -> str:
    """Return the plan in short: it stands in a narrow dialog, above a form."""
    expected = plan.expected
    effort = f"cost {dollars(expected.usd)}, time {minutes(expected.minutes)}"
    total = f"{plan.model} judges {plan.taken:,} pairs: {effort}."
    rows = [
        (
            words(item.reason),
            f"{item.taken:,}",
            dollars(item.expected.usd) if item.expected else NONE,
            minutes(item.expected.minutes) if item.expected else NONE,
        )
        for item in plan.reasons
        if item.taken
    ]
    parts = [
        f"**{markdown_text(total)}**",
        markdown_table(_HEADER, rows),
        markdown_text(plan_sentence(plan)),
        "\n".join(f"- {markdown_text(note)}" for note in plan_notes(plan)),
    ]
    return "\n\n".join(parts) + "\n"
