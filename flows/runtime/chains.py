"""Chains: a run of a deployment starts the deployments that come after it, with the same input.

It does so itself, as the last that it does: an event that told a server of its end could be lost,
or come twice. A run that cannot do it fails, and its Retry does.
"""

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import ObjectNotFound
from prefect.logging import get_run_logger

from flows.deployments import DEPLOYMENTS


def start_next(run: FlowRun) -> None:
    """Start what comes after a run, once however often that is asked for this attempt of it."""
    with get_client(sync_client=True) as client:
        own = client.read_deployment(run.deployment_id).name  # type: ignore[arg-type]
        for following in (each for each in DEPLOYMENTS if each.after == own):
            try:
                found = client.read_deployment_by_name(f"{following.name}/{following.name}")
            except ObjectNotFound:
                get_run_logger().warning("starts no %s: it is not deployed here", following.name)
                continue
            if found.paused:  # Prefect holds back its schedule alone
                get_run_logger().warning("starts no %s: it is paused", following.name)
                continue
            started = client.create_flow_run_from_deployment(
                found.id,
                parameters={
                    name: run.parameters[name] for name in following.asked & run.parameters.keys()
                },
                idempotency_key=f"after {run.id}, {run.run_count}",
            )
            get_run_logger().info("starts %s as %r", following.name, started.name)
