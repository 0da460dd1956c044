"""What ``--plan`` and ``cosqa forecast`` print: pairs by reason, and what judging them may take."""

from flows.cli.console import say
from flows.cli.forecast_options import ForecastOptions
from flows.cli.tables import print_table
from infra.errors import CosqaError
from infra.settings import Settings
from tasks.reports.plan import HEADER, RunPlan, plan_notes, plan_rows, plan_sentence
from tasks.stages.preflight import annotation_plan, size_plan


def left_over(settings: Settings) -> str:
    """Return which pairs a run that found nothing to do has left pending, "" where none are."""
    try:
        plan = annotation_plan(settings)
    except CosqaError:  # the run has said what there was to say
        return ""
    waiting = sum(item.not_due for item in plan.reasons)
    parts = [
        f"{waiting:,} failed pairs wait for another try (`--reason failed` takes them now)"
        * bool(waiting),
        f"{plan.pending:,} pairs are pending for reasons that are not taken (`--plan` shows them)"
        * bool(plan.pending),
    ]
    return " and ".join(filter(None, parts))


def print_plan(settings: Settings) -> None:
    """Print the plan of a run by these settings; nothing is run, and no server is started."""
    plan = annotation_plan(settings)
    if not plan.candidates:
        say(
            f"There is nothing to plan: {plan.collection} has no candidates by these settings: "
            "give the options that they were found with (--encoder, --top-k, --preset), or find "
            "them by `cosqa collect`."
        )
        return
    _print(plan)


def forecast(options: ForecastOptions) -> None:
    """Print what judging the candidates of so many queries takes; no store is made."""
    _print(size_plan(options.settings, options.queries, options.cores))


def _print(plan: RunPlan) -> None:
    print_table(
        f"{plan_sentence(plan)}; by {plan.model} ({plan.configuration})",
        HEADER,
        plan_rows(plan),
        rest="a wider terminal",
        note="\n".join(plan_notes(plan)),
    )
