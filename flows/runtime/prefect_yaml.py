"""The deployments as prefect.yaml, for people who deploy by Prefect's own command."""

import json
from importlib.metadata import version

from flows.deployments import DEPLOYMENTS, Deployment
from flows.runtime.registration import JOB
from infra.deploy import POOL

_HEAD = f"""\
# Made by `cosqa deploy --yaml`; flows/deployments.py is where to change it.
#
# By Prefect's own commands, from the folder in which runs are to work (`cosqa deploy` registers
# the same, and the automations that end dead runs, start crashed ones again, pause at a spent
# budget and, where that is asked, tell people):
#
#   prefect work-pool create {POOL} --type process
#   prefect deploy --all
#   prefect worker start --pool {POOL}
name: cosqa-plus
prefect-version: {version("prefect")}

deployments:
"""


def prefect_yaml() -> str:
    """Return the text of prefect.yaml."""
    return _HEAD + "".join(map(_entry, DEPLOYMENTS))


def _entry(deployment: Deployment) -> str:
    """Return a deployment as an entry; JSON is YAML, and quotes what needs it."""
    lines = [
        f"  - name: {deployment.name}",
        f"    version: {version('cosqa-plus')}",
        f"    description: {json.dumps(deployment.description)}",
        f"    entrypoint: {deployment.entrypoint}",
        f"    tags: {json.dumps(deployment.all_tags)}",
        "    work_pool:",
        f"      name: {POOL}",
        f"      job_variables: {json.dumps(JOB)}",
    ]
    if deployment.parameters:
        lines.append(f"    parameters: {json.dumps(dict(deployment.parameters))}")
    if deployment.schedules:
        lines.append("    schedules:")
    for schedule in deployment.schedules:
        lines += [
            f"      - slug: {schedule.slug}",
            f"        cron: {json.dumps(schedule.cron)}",
            "        timezone: UTC",
            "        active: true",
        ]
    return "\n".join(lines) + "\n"
