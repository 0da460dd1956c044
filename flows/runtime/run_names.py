"""Names of flow runs, as they appear in the Prefect UI: sentences that say what a run does."""

from collections.abc import Mapping

from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.logging import get_run_logger
from prefect.runtime import flow_run

from infra.errors import SettingsError
from infra.settings import Settings, load_settings

_LONGEST = 200
_SUBJECTS = ("benchmark", "before", "truth", "data", "queries", "codes", "preset", "source")


def run_name() -> str:
    """Return flow, subject and time of a run: ``annotate python-source, 21 Nov 09:30``."""
    settings = flow_run.parameters.get("settings")
    is_command = isinstance(settings, Settings)
    return _name(settings.source.title if is_command else subject_of(flow_run.parameters))


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


def subject_of(answers: Mapping[str, object]) -> str:
    """Return what a deployment's run is about, by its form, else by the settings where it works."""
    for name in _SUBJECTS:
        if answer := answers.get(name):
            return "+".join(map(str, answer)) if isinstance(answer, list) else str(answer)
    try:
        return load_settings().source.title
    except SettingsError:  # the run itself says what is wrong with them
        return "unknown"


def _name(subject: str) -> str:
    started = flow_run.scheduled_start_time.astimezone()
    return f"{flow_run.flow_name} {subject[:_LONGEST]}, {started:%d %b %H:%M}"
