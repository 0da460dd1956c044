"""Deployments that are paused on the Prefect server, by a spent budget or by a person."""

from collections.abc import Sequence
from uuid import UUID

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.settings import PREFECT_API_URL

from flows.runtime.prefect_server import running_server
from flows.runtime.waiting_runs import OURS
from infra.errors import SettingsError


def how_to_lift(name: str) -> str:
    """Return how a paused deployment is started again, in words."""
    return (
        "where the budget is spent, raise it first; then run "
        f"`cosqa resume --deployment {name}`, or switch the deployment on in the Prefect UI"
    )


def paused_deployments(client: SyncPrefectClient) -> dict[str, UUID]:
    """Return name → id of the deployments that are paused, in alphabetical order."""
    found = client.read_deployments(deployment_filter=OURS)
    return dict(sorted((each.name, each.id) for each in found if each.paused))


def known_to_be_paused() -> list[str]:
    """Return the names of the server of ``PREFECT_API_URL``; none without one, or if it is away."""
    if not PREFECT_API_URL.value():
        return []
    try:
        with get_client(sync_client=True) as client:
            return list(paused_deployments(client))
    except httpx.HTTPError:
        return []


def resume_deployments(names: Sequence[str]) -> None:
    """Let schedules and automations start paused deployments again.

    Raises:
        SettingsError: No server answers, or one of them is not paused; then none is changed.
    """
    with running_server(), get_client(sync_client=True) as client:
        paused = paused_deployments(client)
        if wrong := [name for name in names if name not in paused]:
            these = f"these are: {', '.join(paused)}" if paused else "none is"
            raise SettingsError(
                f"no deployment named {', '.join(wrong)} is paused on this Prefect server; {these}"
            )
        for name in names:
            client.resume_deployment(paused[name])
