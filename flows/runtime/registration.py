"""Registration of the deployments on a Prefect server: made, changed or left as they are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule
from prefect.events.schemas.automations import Automation, AutomationCore
from prefect.exceptions import ObjectNotFound

from flows.deployments import TAG, Deployment, Schedule, entrypoint_of
from flows.runtime.triggers import NAME_PREFIX
from infra.deploy import job_template
from infra.errors import SettingsError

PoolType = Literal["process", "docker", "kubernetes"]
# Seconds between the signs of life of a flow run; Prefect's least. Without them it is not seen
# that the process of a run is gone, and the run stays "running" for ever.
SIGNS_OF_LIFE = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"}

_ENTER = "prefect.deployments.steps.set_working_directory"


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
        template = job_template(target.pool_type, _plain_template(client, target.pool_type))
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


def _plain_template(client: SyncPrefectClient, pool_type: PoolType) -> dict[str, Any]:
    by_package = client.read_worker_metadata().values()
    known = {name: kind for kinds in by_package for name, kind in kinds.items()}
    template: dict[str, Any] = known[pool_type]["default_base_job_configuration"]
    return template


def register_deployment(
    client: SyncPrefectClient, deployment: Deployment, target: Target
) -> tuple[UUID, Change]:
    """Make or change a deployment on the server; return its id and what was done.

    What people set in the UI stays: answers to questions that the form still asks, pauses, the
    times of schedules, schedules of their own.
    """
    wanted = _content(deployment, target)
    try:
        found = client.read_deployment_by_name(f"{deployment.name}/{deployment.name}")
    except ObjectNotFound:
        schedules = [_schedule(schedule, target) for schedule in deployment.schedules]
        made = _upsert(client, deployment, wanted, schedules, dict(deployment.parameters))
        told = ", ".join(_told(schedule) for schedule in schedules)
        return made, Change("deployment", deployment.name, "made", told)
    different = [key for key, value in wanted.items() if getattr(found, key) != value]
    schedules = _schedules(found, deployment, target)
    if [_of_schedule(each) for each in found.schedules] != [_of_schedule(e) for e in schedules]:
        different.append("schedules")
    parameters = _parameters(found, deployment)
    if found.parameters != parameters:
        different.append("parameters")
    if different:
        _upsert(client, deployment, wanted, schedules, parameters, paused=found.paused)
    outcome: Literal["changed", "left"] = "changed" if different else "left"
    told = ", ".join([*different, *map(_told, schedules)])
    return found.id, Change("deployment", deployment.name, outcome, told)


def register_automation(client: SyncPrefectClient, wanted: AutomationCore) -> Change:
    """Make or change an automation; one that people disabled stays so."""
    found = next(iter(client.read_automations_by_name(wanted.name)), None)
    if found is None:
        client.create_automation(wanted)
        return Change("automation", wanted.name, "made")
    if _essence(found) == _essence(wanted):
        return Change("automation", wanted.name, "left")
    client.update_automation(found.id, wanted.model_copy(update={"enabled": found.enabled}))
    return Change("automation", wanted.name, "changed")


def remove_automation(client: SyncPrefectClient, name: str) -> list[Change]:
    """Remove the automation of a name, if there is one."""
    return _removed("automation", client.read_automations_by_name(name), client.delete_automation)


def prune(
    client: SyncPrefectClient,
    deployments: Sequence[Deployment],
    automations: Sequence[AutomationCore],
) -> list[Change]:
    """Remove deployments and automations of this program that are no longer among the given.

    Deployments that people have made, of a flow of this program under another name or of their own
    with its tag, stay.
    """
    ours = DeploymentFilter(tags=DeploymentFilterTags(all_=[TAG]))
    tagged = client.read_deployments(deployment_filter=ours)
    registered = [each for each in tagged if each.entrypoint == entrypoint_of(each.name)]
    gone = _gone(registered, {each.name for each in deployments})
    removed = _removed("deployment", gone, client.delete_deployment)
    named = [each for each in client.read_automations() if each.name.startswith(NAME_PREFIX)]
    old: list[Automation] = _gone(named, {each.name for each in automations})
    return removed + _removed("automation", old, client.delete_automation)


def _gone(registered: Sequence[Any], names: set[str]) -> list[Any]:
    return [each for each in registered if each.name not in names]


def _removed(kind: str, items: Sequence[Any], remove: Callable[[UUID], object]) -> list[Change]:
    for item in items:
        remove(item.id)
    return [Change(kind, item.name, "removed") for item in items]


def _content(deployment: Deployment, target: Target) -> dict[str, Any]:
    """Return what a deployment is to be on the server, by the names of Prefect's fields."""
    return {
        "version": version("cosqa-plus"),
        "description": deployment.description,
        "tags": deployment.all_tags,
        "entrypoint": deployment.entrypoint,
        "parameter_openapi_schema": deployment.form.schema,
        "enforce_parameter_schema": True,
        "work_pool_name": target.pool,
        "job_variables": {"env": SIGNS_OF_LIFE},
        # Without a step of its own a run would begin by copying its folder, store and all.
        "pull_steps": [{_ENTER: {"directory": str(target.folder)}}],
    }


def _upsert(
    client: SyncPrefectClient,
    deployment: Deployment,
    content: Mapping[str, Any],
    schedules: list[DeploymentScheduleCreate],
    parameters: dict[str, Any],
    *,
    paused: bool = False,
) -> UUID:
    return client.create_deployment(
        flow_id=client.create_flow_from_name(deployment.name),
        name=deployment.name,
        schedules=schedules,
        parameters=parameters,
        paused=paused,
        **content,
    )


def _parameters(found: DeploymentResponse, deployment: Deployment) -> dict[str, Any]:
    """Return the answers on the server to what the form asks, and ours to what it did not ask."""
    asked = (found.parameter_openapi_schema or {}).get("properties", {})
    names = {question.name for question in deployment.form.fields}
    new = {name: value for name, value in deployment.parameters.items() if name not in asked}
    return new | {name: value for name, value in found.parameters.items() if name in names}


def _schedule(schedule: Schedule, target: Target) -> DeploymentScheduleCreate:
    return DeploymentScheduleCreate(
        schedule=CronSchedule(cron=schedule.cron, timezone="UTC"),
        active=True if target.schedules is None else target.schedules,
        slug=schedule.slug,
    )


def _schedules(
    found: DeploymentResponse, deployment: Deployment, target: Target
) -> list[DeploymentScheduleCreate]:
    """Return the schedules on the server, ours switched as asked, and ours that are missing."""
    ours = {schedule.slug for schedule in deployment.schedules}
    kept = [
        DeploymentScheduleCreate(
            schedule=each.schedule,
            active=each.active
            if target.schedules is None or each.slug not in ours
            else target.schedules,
            parameters=each.parameters,
            slug=each.slug,
        )
        for each in found.schedules
    ]
    there = {each.slug for each in found.schedules}
    missing = [each for each in deployment.schedules if each.slug not in there]
    return kept + [_schedule(schedule, target) for schedule in missing]


def _of_schedule(schedule: Any) -> tuple[object, ...]:  # noqa: ANN401 - both of Prefect's kinds
    return schedule.slug, schedule.schedule, schedule.active, schedule.parameters


def _told(schedule: DeploymentScheduleCreate) -> str:
    when = getattr(schedule.schedule, "cron", "") or "by its schedule"
    return f"{schedule.slug or 'schedule'} at {when}{'' if schedule.active else ' (off)'}"


def _essence(automation: AutomationCore) -> object:
    """Return what an automation says, without ids and in one order."""
    keys = {"description", "trigger", "actions", "actions_on_trigger", "actions_on_resolve", "tags"}
    return _ordered(automation.model_dump(mode="json", include=keys))


def _ordered(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _ordered(item) for key, item in value.items() if key != "id"}
    if isinstance(value, list):
        return sorted((_ordered(item) for item in value), key=repr)
    return value
