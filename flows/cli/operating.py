"""The commands that run flows on a Prefect server for months."""

from collections.abc import Mapping

from flows.cli.lazy import Command

OPERATING: Mapping[str, Command] = {
    "server": Command(
        "Run a Prefect server, its deployments and a worker on this machine, until Ctrl-C.",
        options="deploy_options:server",
        action="server:serve",
        details="The UI shows runs and starts them; runs of annotate, audit and benchmark wait "
        "there until a person approves their plan, generate and compare-annotators do not. The "
        "server listens on loopback and keeps its database in PREFECT_HOME, or where "
        "PREFECT_API_DATABASE_CONNECTION_URL says. A server or worker that dies is started again.",
        examples=("cosqa server", "cosqa server --port 4300 --folder /srv/cosqa"),
    ),
    "deploy": Command(
        "Register all flows as deployments on a Prefect server, with schedules and automations.",
        options="deploy_options:deploy",
        action="server:deploy",
        details="The server is that of PREFECT_API_URL, else the one on this machine. What is "
        "there is brought up to date; what people set in the UI stays: parameters, pauses, times "
        "of schedules, schedules of their own.",
        examples=("cosqa deploy", "cosqa deploy --no-schedules --prune"),
    ),
}
