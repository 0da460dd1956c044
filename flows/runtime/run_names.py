"""Names of flow runs, as they appear in the Prefect UI."""

from prefect.runtime import flow_run

from infra.settings import Settings


def run_name() -> str:
    """Return flow, source and time of a run: ``benchmark-python-source-1121-0930``."""
    settings = flow_run.parameters.get("settings")
    source = settings.source.title if isinstance(settings, Settings) else "default"
    started = flow_run.scheduled_start_time.astimezone()
    return f"{flow_run.flow_name}-{source}-{started:%m%d-%H%M}"
