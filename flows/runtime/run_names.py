"""Names of flow runs, as they appear in the Prefect UI: sentences that say what a run does."""

from collections.abc import Mapping

from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.logging import get_run_logger
from prefect.runtime import flow_run

from infra.settings import Settings

_LONGEST = 200


def run_name() -> str:
    """Return flow, subject and time of a run: ``annotate python-source, 21 Nov 09:30``."""
    settings = flow_run.parameters.get("settings")
    named = settings.source.title if isinstance(settings, Settings) else _answered()
    return _name(named)


def data_name() -> str:
    """Return flow, data sets and time of a run: ``study-kape docs+cosqa, 21 Nov 09:30``."""
    return _name("+".join(flow_run.parameters.get("data", {})) or "nothing")


def rename_run(name: str) -> None:
    """Give the flow run at work another name, once it is known what it does.

    A server that takes none ends no run.
    """
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return
    try:
        with get_client(sync_client=True) as client:
            client.update_flow_run(context.flow_run.id, name=name[:_LONGEST])
    except Exception as error:  # noqa: BLE001 - a name is not worth a run
        get_run_logger().warning("Prefect's server does not take the run's name: %s", error)


def _answered() -> str:
    """Return what a deployment's run is about, by its form."""
    answers: Mapping[str, object] = flow_run.parameters
    for name in ("collection", "benchmark", "before", "data", "queries", "preset", "source"):
        if answer := answers.get(name):
            return "+".join(map(str, answer)) if isinstance(answer, list) else str(answer)
    return "as set up"


def _name(subject: str) -> str:
    started = flow_run.scheduled_start_time.astimezone()
    return f"{flow_run.flow_name} {subject[:_LONGEST]}, {started:%d %b %H:%M}"
