"""What ``cosqa deploy`` does: register the deployments, or print them as prefect.yaml."""

from collections import Counter
from collections.abc import Iterator
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client

from flows.cli.console import say
from flows.cli.deploy_options import DeployOptions
from flows.deployments import DEPLOYMENTS
from flows.runtime.automations import automations
from flows.runtime.prefect_server import running_server
from flows.runtime.prefect_yaml import prefect_yaml
from flows.runtime.registration import (
    Change,
    Target,
    prune,
    register_automation,
    register_deployment,
    register_pool,
)
from flows.runtime.triggers import chains, housekeeping
from infra.settings import load_settings


def deploy(options: DeployOptions) -> None:
    """Register everything on the Prefect server and print what came of it."""
    if options.as_yaml:
        say(prefect_yaml().rstrip())
        return
    with running_server() as url:
        register(options)
    say(f"The UI: {url.removesuffix('/api')}/deployments")
    if options.pool_type == "process":
        start = f"PREFECT_API_URL={url} prefect worker start --pool {options.pool}"
        say(f"Unless `make server` runs, which has a worker, start one: {start}")


def register(options: DeployOptions, *, briefly: bool = False) -> None:
    """Register everything on the server in force and print what was done to each thing.

    Args:
        options: What to register.
        briefly: Do not print what was left as it is.
    """
    counts: Counter[str] = Counter()
    with get_client(sync_client=True) as client:
        for change in _registered(client, options):
            counts[change.outcome] += 1
            details = f" ({change.details})" if change.details else ""
            if not (briefly and change.outcome == "left"):
                say(f"{change.outcome:8} {change.kind} {change.name}{details}")
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    say(f"Deployments and what goes with them: {told}. Runs work in {options.folder}.")


def _registered(client: SyncPrefectClient, options: DeployOptions) -> Iterator[Change]:
    target = Target(options.pool, options.pool_type, options.folder, options.schedules)
    yield register_pool(client, target)
    ids: dict[str, UUID] = {}
    for deployment in DEPLOYMENTS:
        ids[deployment.name], change = register_deployment(client, deployment, target)
        yield change
    alarms = automations(load_settings().operation)
    wanted = [*chains(ids, DEPLOYMENTS), *housekeeping(), *alarms]
    for automation in wanted:
        yield register_automation(client, automation)
    if options.prune:
        yield from prune(client, DEPLOYMENTS, wanted)
