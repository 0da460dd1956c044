"""What ``cosqa server`` does: a Prefect server, its deployments and a worker in one terminal."""

from flows.cli.console import say
from flows.cli.deploy import register
from flows.cli.deploy_options import DeployOptions, ServerOptions
from flows.runtime.local_server import local_server
from infra.deploy import POOL


def serve(options: ServerOptions) -> None:
    """Run server and worker until Ctrl-C or a signal ends this process."""
    with local_server(options.port, options.folder, POOL, say) as server:
        chosen = DeployOptions(POOL, "process", options.folder, None, prune=False, as_yaml=False)
        register(chosen, briefly=True)
        ui = server.api.removesuffix("/api")
        say(f"The UI is at {ui}. Begin there with Deployments > benchmark > Run.")
        say(f"For commands in other terminals: export PREFECT_API_URL={server.api}")
        say("Ctrl-C ends server, worker and the runs that the worker has started.")
        server.watch()
