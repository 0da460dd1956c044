"""Registration of the deployments on a Prefect server: made, changed or left as they are."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags
from prefect.client.schemas.objects import ConcurrencyLimitConfig, VersionInfo
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule
from prefect.deployments.runner import RunnerDeployment
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectNotFound
from prefect.runner.storage import LocalStorage
from pydantic import BaseModel

from flows.deployments import TAG, Deployment, entrypoint_of
from flows.runtime.automations import NAME_PREFIX
from infra.deploy import job_template
from infra.errors import SettingsError

PoolType = Literal["process", "docker", "kubernetes"]
# For the process of a run. Without signs of life (seconds between them; Prefect's least) it is not
# seen that it is gone, and the run stays "running" for ever.
JOB = {
    "env": {
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
        "PREFECT_LOGGING_EXTRA_LOGGERS": "agents,sandbox,infra",
    }
}

_VERSION = version("cosqa-plus")
# What registration may change of a deployment and of an automation, and what says nothing there.
_OF_DEPLOYMENT = (
    *("version", "description", "tags", "entrypoint", "parameter_openapi_schema", "parameters"),
    *("enforce_parameter_schema", "work_pool_name", "job_variables", "pull_steps", "schedules"),
)
_OF_AUTOMATION = ("description", "trigger", "actions", "actions_on_trigger", "actions_on_resolve")
_NOTHING = {"id", "created", "updated", "deployment_id"}


@dataclass(frozen=True)
class Target:
    """Where deployments are registered, and where their runs work.

    Attributes:
        pool: Name of the work pool.
        pool_type: Its type, where it has to be made.
        folder: Folder in which runs work: relative paths, cosqa.toml, store and output.
        schedules: Whether schedules are active; None makes new ones active and leaves the others.
    """

    pool: str
    pool_type: PoolType
    folder: Path
    schedules: bool | None = None


@dataclass(frozen=True)
class Change:
    """What registration did to one thing on the server.

    Attributes:
        kind: What it is, such as "deployment".
        name: Its name.
        outcome: What became of it.
        details: What was changed, in words.
    """

    kind: str
    name: str
    outcome: Literal["made", "changed", "left", "removed"]
    details: str = ""


def register_pool(client: SyncPrefectClient, target: Target) -> Change:
    """Make the work pool, unless there is one of its name.

    Raises:
        SettingsError: The pool is there, of a type whose runs work elsewhere.
    """
    try:
        found = client.read_work_pool(target.pool)
    except ObjectNotFound:
        by_package = client.read_worker_metadata().values()
        known = {name: kind for kinds in by_package for name, kind in kinds.items()}
        plain = known[target.pool_type]["default_base_job_configuration"]
        template = job_template(target.pool_type, plain)
        pool = WorkPoolCreate(
            name=target.pool, type=target.pool_type, base_job_template=template,
            description="Runs of CoSQA+'s flows.",
        )  # fmt: skip
        client.create_work_pool(pool)
        return Change("work pool", target.pool, "made", target.pool_type)
    if found.type != target.pool_type:
        raise SettingsError(
            f"the work pool {target.pool!r} has type {found.type}, not {target.pool_type}: give "
            f"--pool-type {found.type}, or the name of another pool with --pool"
        )
    return Change("work pool", target.pool, "left", found.type)


def register_deployment(
    client: SyncPrefectClient, deployment: Deployment, target: Target
) -> Change:
    """Make or change a deployment; return what was done.

    What people set in the UI stays: answers to questions that the form still asks, pauses, the
    times of schedules, schedules of their own, limits.
    """
    name = f"{deployment.name}/{deployment.name}"
    try:
        found = client.read_deployment_by_name(name)
    except ObjectNotFound:
        found = None
    wanted = RunnerDeployment.from_entrypoint(
        deployment.entrypoint, deployment.name,
        description=deployment.description, version=_VERSION, tags=deployment.all_tags,
        work_pool_name=target.pool, job_variables=JOB, **_set_by_people(found, deployment),
    )  # fmt: skip
    # Without a step of its own a run would begin by copying its folder, store and all.
    wanted.storage = LocalStorage(str(target.folder))
    wanted.apply(
        schedules=_schedules(found, deployment, target),
        version_info=VersionInfo(type="prefect:simple", version=_VERSION),
    )
    return _deployment_change(found, client.read_deployment_by_name(name))


def _deployment_change(found: DeploymentResponse | None, after: DeploymentResponse) -> Change:
    told = [
        f"{each.slug or 'schedule'} at {getattr(each.schedule, 'cron', '') or 'its times'}"
        f"{'' if each.active else ' (off)'}"
        for each in after.schedules
    ]
    if found is None:
        return Change("deployment", after.name, "made", ", ".join(told))
    different = _different(found, after, _OF_DEPLOYMENT)
    outcome: Literal["changed", "left"] = "changed" if different else "left"
    return Change("deployment", after.name, outcome, ", ".join([*different, *told]))


def register_automation(client: SyncPrefectClient, wanted: AutomationCore) -> Change:
    """Make or change an automation; one that people disabled stays so."""
    found = client.read_automations_by_name(wanted.name)
    if not found:
        client.create_automation(wanted)
        return Change("automation", wanted.name, "made")
    if not _different(found[0], wanted, _OF_AUTOMATION):
        return Change("automation", wanted.name, "left")
    kept = wanted.model_copy(update={"enabled": found[0].enabled})
    client.update_automation(found[0].id, kept)
    return Change("automation", wanted.name, "changed")


def remove_automation(client: SyncPrefectClient, name: str) -> list[Change]:
    """Remove the automation of a name, if there is one."""
    return _removed("automation", client.read_automations_by_name(name), client.delete_automation)


def prune(
    client: SyncPrefectClient, deployments: Collection[str], automations: Collection[str]
) -> list[Change]:
    """Remove deployments and automations of this program that are not among the given names.

    Deployments that people have made, of a flow of this program under another name or of their own
    with its tag, stay.
    """
    tagged = client.read_deployments(
        deployment_filter=DeploymentFilter(tags=DeploymentFilterTags(all_=[TAG]))
    )
    registered = [each for each in tagged if each.entrypoint == entrypoint_of(each.name)]
    gone = [each for each in registered if each.name not in deployments]
    removed = _removed("deployment", gone, client.delete_deployment)
    named = [each for each in client.read_automations() if each.name.startswith(NAME_PREFIX)]
    old = [each for each in named if each.name not in automations]
    return removed + _removed("automation", old, client.delete_automation)


def _removed(kind: str, items: Sequence[Any], remove: Callable[[UUID], object]) -> list[Change]:
    for item in items:
        remove(item.id)
    return [Change(kind, item.name, "removed") for item in items]


def _set_by_people(found: DeploymentResponse | None, deployment: Deployment) -> dict[str, Any]:
    """Return what people may have set in the UI and `apply` would overwrite, as they set it.

    Of answers those to what the form asks, and ours to what it did not ask.
    """
    if found is None:
        return {"parameters": dict(deployment.parameters)}
    asked = (found.parameter_openapi_schema or {}).get("properties", {})
    new = {name: value for name, value in deployment.parameters.items() if name not in asked}
    limit, how = found.global_concurrency_limit, found.concurrency_options
    return {
        "parameters": new
        | {name: found.parameters[name] for name in deployment.asked & {*found.parameters}},
        "paused": found.paused,
        "work_queue_name": found.work_queue_name,
        "concurrency_limit": limit
        and ConcurrencyLimitConfig(limit=limit.limit, **(how.model_dump() if how else {})),
    }


def _schedules(
    found: DeploymentResponse | None, deployment: Deployment, target: Target
) -> list[dict[str, Any]]:
    """Return the schedules on the server, ours switched as asked, and ours that are missing."""
    said = ("slug", "schedule", "active", "parameters")
    schedules = {
        each.slug or str(each.id): {name: getattr(each, name) for name in said}
        for each in (found.schedules if found else [])
    }
    for ours in deployment.schedules:
        schedule = CronSchedule(cron=ours.cron, timezone="UTC")
        new = {"slug": ours.slug, "schedule": schedule, "active": True}
        held = schedules.setdefault(ours.slug, new)
        if target.schedules is not None:
            held["active"] = target.schedules
    return [*schedules.values()]


def _different(one: BaseModel, other: BaseModel, keys: Collection[str]) -> list[str]:
    """Return in which of the keys two things differ, whatever the order of what they list."""
    first, second = (each.model_dump(mode="json", include={*keys}) for each in (one, other))
    return [key for key in keys if _ordered(first[key]) != _ordered(second[key])]


def _ordered(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _ordered(item) for key, item in value.items() if key not in _NOTHING}
    if isinstance(value, list):
        return sorted((_ordered(item) for item in value), key=repr)
    return value
