"""The flows that deployments run: each reads its form and calls the flow of its name.

Each function takes the settings that the form gives, and the answers that are no settings. A run
that finds another one writing into the store, or waiting for approval of the same, ends as
cancelled with that run's name: for a schedule this is no failure. So does one that an automation
or a run before it starts while its deployment is paused. A spent budget that ends a run is told to
the server, whose automation pauses the deployment. Flows are imported when they run, each run in a
process of its own.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.logging import get_run_logger
from prefect.states import Cancelled

from flows.cli.output import leaves, message_of
from flows.cli.pairs import named_folders
from flows.deployments import deployment_named
from flows.runtime.chains import is_chained, start_next
from flows.runtime.paused_deployments import how_to_lift
from flows.runtime.run_inputs import deployed_run, was_answered
from flows.runtime.run_names import run_name, subject_of
from flows.runtime.steps import SIDE_BY_SIDE
from flows.runtime.waiting_runs import waiting_runs
from infra.errors import (
    BudgetExhaustedError,
    RunBudgetExhaustedError,
    StoreBusyError,
    UnrecordableError,
)
from infra.settings import COMPARED_CONFIGURATIONS, Settings
from tasks.runtime import run_events

_OF_ONE_RUN = (RunBudgetExhaustedError, UnrecordableError)


def _entry(function: Callable[..., object]) -> Flow[..., Any]:
    """Return the flow of the deployment that has the function's name."""
    name = function.__name__.replace("_", "-")
    form = deployment_named(name).form

    def run(**answers: object) -> object:
        try:
            if reason := _needless():
                return _skipped(reason)
            with _telling_of_budget(answers):
                result = function(form.settings(answers), **form.arguments(answers))
        except StoreBusyError as busy:
            return _skipped(str(busy))
        if own := deployed_run():
            start_next(own)
        return result

    run.__name__ = run.__qualname__ = function.__name__
    run.__doc__ = function.__doc__
    run.__signature__ = form.signature  # type: ignore[attr-defined]
    flow = Flow(run, name=name, flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
    flow.__signature__ = form.asked  # type: ignore[attr-defined]
    return flow


@contextmanager
def _telling_of_budget(answers: Mapping[str, object]) -> Iterator[None]:
    """Tell of a spent budget that ends the ``with``, unless the stage that met it has done so.

    It is the budget that all runs share: that of a run alone, and a disk that keeps no spending,
    are none that the next run would meet.
    """
    told = run_events.budgets_told()
    try:
        yield
    except Exception as error:
        spent = [each for each in leaves(error) if isinstance(each, BudgetExhaustedError)]
        shared = [each for each in spent if not isinstance(each, _OF_ONE_RUN)]
        if shared and run_events.budgets_told() == told:
            run_events.budget_exhausted(subject_of(answers), message_of(shared[0]), {})
        raise


def _skipped(reason: str) -> State[object]:
    get_run_logger().warning("this run ends without having done anything: %s", reason)
    return Cancelled(message=f"Skipped: {reason}")


def _needless() -> str:
    """Return why this run of a deployment is not to do anything, or "", as where it was answered.

    Without this a run a night would come to wait while nobody looks. And of a deployment that is
    paused Prefect holds back the schedule alone, not what automations and chains start.
    """
    own = deployed_run()
    if own is None or was_answered():
        return ""
    with get_client(sync_client=True) as client:
        if _is_automatic(own) and (found := client.read_deployment(str(own.deployment_id))).paused:
            return f"its deployment is paused: {how_to_lift(found.name)}; a run by hand starts now"
        waiting = waiting_runs(client)
    twins = [
        run.name
        for run in waiting
        if run.deployment_id == own.deployment_id and run.parameters == own.parameters
    ]
    return f"the run {twins[0]!r} waits for approval of the same" if twins else ""


def _is_automatic(run: FlowRun) -> bool:
    """Return whether a chain or an automation has started it; not what a person starts again."""
    made_by = run.created_by.type if run.created_by else None
    return (is_chained(run) or made_by == "AUTOMATION") and run.run_count < 2


def _called(flow: str, *arguments: object, **options: object) -> object:
    """Return what a flow of this folder returns, called within this run."""
    found: Flow[..., Any] = getattr(import_module(f"flows.{flow}"), flow)
    return found.fn(*arguments, **options)


@_entry
def benchmark(settings: Settings) -> object:
    """Run the whole pipeline: collect, annotate, publish, evaluate."""
    return _called("benchmark", settings)


@_entry
def collect(settings: Settings) -> object:
    """Read the source, embed its texts, and find the candidates of every query."""
    return _called("collect", settings)


@_entry
def annotate(settings: Settings) -> object:
    """Judge every candidate that is pending."""
    return _called("annotate", settings)


@_entry
def audit(settings: Settings) -> object:
    """Judge a sample of labelled pairs again, and say how far labels are stable."""
    return _called("audit", settings)


@_entry
def generate(settings: Settings) -> object:
    """Have answers written to the queries of which the agents label no candidate 1."""
    return _called("generate", settings)


@_entry
def publish(settings: Settings) -> object:
    """Export a benchmark for each collection and each origin of its labels."""
    return _called("publish", settings)


@_entry
def evaluate(settings: Settings) -> object:
    """Score every method on every export of the source's collections; write the report."""
    return _called("evaluate", settings)


@_entry
def leaderboard(
    settings: Settings, benchmark: str, runs: list[str] | None = None, unjudged_to_annotate: int = 0
) -> object:
    """Rank a benchmark's codes by every method and compare their scores."""
    return _called(
        "leaderboard", Path(benchmark), [Path(run) for run in runs or ()], settings,
        unjudged_to_annotate=unjudged_to_annotate,
    )  # fmt: skip


@_entry
def diff(settings: Settings, before: str, after: str) -> object:
    """Compare two versions of a benchmark: queries, codes, labels, and the methods' scores."""
    return _called("diff", Path(before), Path(after), settings)


@_entry
def estimate(settings: Settings, train: str, queries: str, judged: str | None = None) -> object:
    """Estimate each method's scores on queries from labelled pairs, and say what to label."""
    sample = Path(judged) if judged else None
    return _called("estimate", Path(train), Path(queries), sample, settings)


@_entry
def compare_annotators(
    settings: Settings,
    truth: str,
    models: list[str] | None = None,
    configurations: list[str] | None = None,
    limit: int | None = None,
) -> object:
    """Judge pairs with known labels by every model in every configuration of the agents."""
    return _called(
        "compare_annotators", Path(truth), models or [settings.llm.model],
        configurations or COMPARED_CONFIGURATIONS, settings, limit=limit,
    )  # fmt: skip


@_entry
def study(settings: Settings) -> object:
    """Compute every table and figure of the papers that the store allows; write the report."""
    return _called("study", settings)


@_entry
def study_kape(settings: Settings, data: list[str]) -> object:
    """Compute the tables and figures of KAPE for each encoder on each data set."""
    named = named_folders("data", data) or {}
    return _called("study_kape", {name: Path(folder) for name, folder in named.items()}, settings)
