"""What ``cosqa deploy`` and ``cosqa server`` do: deployments, a Prefect server and a worker."""

from collections import Counter
from collections.abc import Iterator
from contextlib import chdir, nullcontext

from prefect.client.orchestration import SyncPrefectClient, get_client

from flows.cli.output import say
from flows.deployments import DEPLOYMENTS
from flows.options import Deploy, Server
from flows.runtime.automations import NOTIFY, housekeeping, notifications, restart, stop_on_budget
from flows.runtime.local_server import local_server
from flows.runtime.prefect_server import running_server
from flows.runtime.prefect_yaml import prefect_yaml
from flows.runtime.registration import (
    Change,
    Target,
    prune,
    register_automation,
    register_deployment,
    register_pool,
    remove_automation,
)
from infra.deploy import POOL
from infra.errors import SettingsError
from infra.settings import OperationSettings, load_settings


def deploy(options: Deploy) -> None:
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


def register(options: Deploy, *, briefly: bool = False) -> None:
    """Register everything on the server in force and print what was done to each thing.

    Args:
        options: What to register.
        briefly: For a server that has just started: do not print what was left as it is, and only
            say it if the block for notifications is missing, which is made in the server's UI.

    Raises:
        SettingsError: The pool has another type; or there is no such block.
    """
    operation = _operation(options)
    counts: Counter[str] = Counter()
    with get_client(sync_client=True) as client:
        for change in _registered(client, options, operation, is_new=briefly):
            counts[change.outcome] += 1
            details = f" ({change.details})" if change.details else ""
            if not (briefly and change.outcome == "left"):
                say(f"{change.outcome:8} {change.kind} {change.name}{details}")
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    say(f"Deployments and what goes with them: {told}. Runs work in {options.place}.")


def _operation(options: Deploy) -> OperationSettings:
    """Return the settings of the folder in which runs work; a container's may not be here."""
    with chdir(options.place) if options.place.is_dir() else nullcontext():
        return load_settings().operation


def _registered(
    client: SyncPrefectClient, options: Deploy, operation: OperationSettings, *, is_new: bool
) -> Iterator[Change]:
    target = Target(options.pool, options.pool_type, options.place, options.schedules)
    yield register_pool(client, target)
    for deployment in DEPLOYMENTS:
        yield register_deployment(client, deployment, target)
    wanted = [*housekeeping(), restart(), stop_on_budget()]
    for automation in wanted:
        yield register_automation(client, automation)
    try:
        told = notifications(operation)
    except SettingsError as missing:
        if not is_new:
            raise
        say(str(missing))
        return
    for automation in told:
        yield register_automation(client, automation)
    if not told:  # else people would be told by a block that was taken out of the settings
        yield from remove_automation(client, NOTIFY)
    if options.prune:
        kept = [each.name for each in [*wanted, *told]]
        yield from prune(client, [each.name for each in DEPLOYMENTS], kept)


def serve(options: Server) -> None:
    """Run server and worker until Ctrl-C or a signal ends this process."""
    with local_server(options.port, options.place, POOL, say) as server:
        register(Deploy(folder=options.place), briefly=True)
        ui = server.api.removesuffix("/api")
        say(f"The UI is at {ui}. Begin there with Deployments > benchmark > Run.")
        say(f"For commands in other terminals: export PREFECT_API_URL={server.api}")
        say("Ctrl-C ends server, worker and the runs that the worker has started.")
        server.watch()
