"""Laws of registration: what is there is left, what differs is changed, what people set stays.

Covers `flows.runtime.prefect_yaml`.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate, DeploymentUpdate
from prefect.client.schemas.objects import DeploymentSchedule
from prefect.client.schemas.schedules import CronSchedule
from prefect.exceptions import PrefectHTTPStatusError
from prefect.utilities.schema_tools.validation import validate

from flows.deployments import DEPLOYMENTS, TAG, Deployment, entrypoint_of
from flows.runtime.automations import housekeeping, restart
from flows.runtime.registration import (
    PoolType,
    Target,
    prune,
    register_automation,
    register_deployment,
    register_pool,
)
from infra.errors import SettingsError
from tests.flows.deployed import deployment_named

ROOT = Path(__file__).parents[3]
ANNOTATE, COLLECT = deployment_named("annotate"), deployment_named("collect")


@pytest.fixture
def client(prefect_server: str) -> Iterator[SyncPrefectClient]:
    with get_client(sync_client=True) as client:
        _clear(client)
        yield client
        _clear(client)


def _clear(client: SyncPrefectClient) -> None:
    for deployment in client.read_deployments():
        client.delete_deployment(deployment.id)
    for automation in client.read_automations():
        client.delete_automation(automation.id)
    for pool in client.read_work_pools():
        client.delete_work_pool(pool.name)


@pytest.fixture
def target(client: SyncPrefectClient, tmp_path: Path) -> Target:
    target = Target("cosqa", "process", tmp_path)
    register_pool(client, target)
    return target


def outcome(client: SyncPrefectClient, deployment: Deployment, target: Target) -> str:
    return register_deployment(client, deployment, target).outcome


def test_what_is_registered_again_is_left_and_what_differs_is_changed(
    client: SyncPrefectClient, target: Target, tmp_path: Path
) -> None:
    assert outcome(client, ANNOTATE, target) == "made"
    assert outcome(client, ANNOTATE, target) == "left"
    told = replace(ANNOTATE, description="Other words.")
    assert outcome(client, told, target) == "changed"
    assert outcome(client, told, target) == "left"
    elsewhere = replace(target, folder=tmp_path.parent)
    change = register_deployment(client, told, elsewhere)
    assert (change.outcome, "pull_steps" in change.details) == ("changed", True)


def test_runs_work_in_the_folder_without_copying_it_and_show_that_they_live(
    client: SyncPrefectClient, target: Target
) -> None:
    register_deployment(client, ANNOTATE, target)
    found = client.read_deployment_by_name("annotate/annotate")
    assert str(found.pull_steps).count(str(target.folder)) == 1
    assert "set_working_directory" in str(found.pull_steps)
    assert int(found.job_variables["env"]["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"]) >= 30


def test_what_people_set_stays(client: SyncPrefectClient, target: Target) -> None:
    register_deployment(client, COLLECT, target)
    identity = client.read_deployment_by_name("collect/collect").id
    (nightly,) = client.read_deployment_schedules(identity)
    client.update_deployment_schedule(
        identity, nightly.id, active=False, schedule=CronSchedule(cron="30 4 * * *")
    )
    own = CronSchedule(cron="0 12 * * *", timezone="Europe/Berlin")
    client.create_deployment_schedules(identity, [DeploymentScheduleCreate(schedule=own)])
    client.pause_deployment(identity)
    client.update_deployment(identity, DeploymentUpdate(concurrency_limit=3))
    assert outcome(client, COLLECT, target) == "left"
    assert outcome(client, replace(COLLECT, description="Other words."), target) == "changed"
    found = client.read_deployment_by_name("collect/collect")
    assert found.paused
    assert found.global_concurrency_limit is not None
    assert found.global_concurrency_limit.limit == 3
    assert _crons(found.schedules) == {("0 12 * * *", True), ("30 4 * * *", False)}


def test_a_deployment_of_a_former_release_waits_for_approval_as_a_new_one_does(
    client: SyncPrefectClient, target: Target
) -> None:
    flow = client.create_flow_from_name("annotate")
    schema = {"type": "object", "properties": {"settings": {"type": "object"}}}
    client.create_deployment(
        flow, "annotate", parameters={"settings": {}}, parameter_openapi_schema=schema
    )
    change = register_deployment(client, ANNOTATE, target)
    assert "parameters" in change.details
    found = client.read_deployment_by_name("annotate/annotate")
    assert found.parameters == {"approve": True}, "it has no question `settings` any more"
    client.update_deployment(found.id, DeploymentUpdate(parameters={"top_k": 5}))
    assert outcome(client, ANNOTATE, target) == "left"
    assert client.read_deployment(found.id).parameters == {"top_k": 5}, "as people set it"


def _crons(schedules: list[DeploymentSchedule]) -> set[tuple[str, bool]]:
    return {(getattr(each.schedule, "cron", ""), each.active) for each in schedules}


def test_schedules_are_switched_when_that_is_asked_and_only_ours(
    client: SyncPrefectClient, target: Target
) -> None:
    register_deployment(client, COLLECT, target)
    identity = client.read_deployment_by_name("collect/collect").id
    noon = DeploymentScheduleCreate(schedule=CronSchedule(cron="0 12 * * *"))
    client.create_deployment_schedules(identity, [noon])
    register_deployment(client, COLLECT, replace(target, schedules=False))
    found = client.read_deployment_by_name("collect/collect")
    assert _crons(found.schedules) == {("0 12 * * *", True), ("0 1 * * *", False)}
    register_deployment(client, COLLECT, replace(target, schedules=True))
    found = client.read_deployment_by_name("collect/collect")
    assert _crons(found.schedules) == {("0 12 * * *", True), ("0 1 * * *", True)}


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"top_k": 0}, "less than the minimum of 1"),
        ({"source": "nowhere"}, "is not one of"),
    ],
)
def test_the_server_refuses_a_wrong_answer_with_a_reason(
    client: SyncPrefectClient, target: Target, answers: dict[str, object], reason: str
) -> None:
    register_deployment(client, ANNOTATE, target)
    identity = client.read_deployment_by_name("annotate/annotate").id
    with pytest.raises(PrefectHTTPStatusError) as refused:
        client.create_flow_run_from_deployment(identity, parameters=answers)
    assert reason in refused.value.response.text


def test_automations_are_made_once_and_stay_off_when_people_switch_them_off(
    client: SyncPrefectClient,
) -> None:
    for wanted in [*housekeeping(), restart()]:
        assert register_automation(client, wanted).outcome == "made"
        assert register_automation(client, wanted).outcome == "left"
        (found,) = client.read_automations_by_name(wanted.name)
        client.pause_automation(found.id)
        other = wanted.model_copy(update={"description": "Other words."})
        assert register_automation(client, other).outcome == "changed"
        assert not client.read_automations_by_name(wanted.name)[0].enabled


def test_no_event_of_a_server_starts_what_the_run_before_starts_itself(
    client: SyncPrefectClient, target: Target
) -> None:
    for deployment in DEPLOYMENTS:
        register_deployment(client, deployment, target)
    assert client.read_automations() == []
    assert "triggers:" not in (ROOT / "prefect.yaml").read_text()


def _held(client: SyncPrefectClient) -> dict[str, Any]:
    """Return what a server holds, without what differs from one registration to the next."""
    own = {"id", "created", "updated", "deployment_id", "flow_id", "created_by", "updated_by"}
    own |= {"last_polled", "owner_resource"}

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if key not in own}
        if isinstance(value, list):
            return sorted(map(plain, value), key=repr)
        return value

    found: list[Any] = [*client.read_deployments(), *client.read_automations()]
    return {str(each.name): plain(each.model_dump(mode="json")) for each in found}


@pytest.mark.slow
def test_prefect_s_own_command_registers_what_ours_does(
    client: SyncPrefectClient, target: Target, prefect_server: str, tmp_path: Path
) -> None:
    for deployment in DEPLOYMENTS:
        register_deployment(client, deployment, target)
    ours = _held(client)
    for held in client.read_deployments():
        client.delete_deployment(held.id)
    (tmp_path / "prefect.yaml").write_text((ROOT / "prefect.yaml").read_text())
    subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=300,
    )  # fmt: skip
    theirs = _held(client)
    assert {*ours} == {*theirs} == {each.name for each in DEPLOYMENTS}
    for name, held in ours.items():
        assert theirs[name] == held, name


def test_pruning_removes_what_was_ours_and_nothing_of_others(
    client: SyncPrefectClient, target: Target
) -> None:
    register_deployment(client, ANNOTATE, target)
    for flow, name, tags, entrypoint in (
        ("former", "former", [TAG], entrypoint_of("former")),
        ("theirs", "theirs", None, None),
        ("theirs", "theirs-with-our-tag", [TAG], "theirs.py:theirs"),
        ("annotate", "my-annotate", [TAG], ANNOTATE.entrypoint),
    ):
        client.create_deployment(
            client.create_flow_from_name(flow), name, tags=tags, entrypoint=entrypoint
        )
    for name in ("cosqa: annotate after collect", "cosqa: kept", "theirs"):
        client.create_automation(restart().model_copy(update={"name": name}))
    removed = prune(client, {each.name for each in DEPLOYMENTS}, {"cosqa: kept"})
    assert [(each.kind, each.name) for each in removed] == [
        ("deployment", "former"), ("automation", "cosqa: annotate after collect"),
    ]  # fmt: skip
    assert {each.name for each in client.read_deployments()} == {
        "annotate", "theirs", "theirs-with-our-tag", "my-annotate",
    }  # fmt: skip
    assert {each.name for each in client.read_automations()} == {"cosqa: kept", "theirs"}


def test_a_pool_of_another_type_is_refused(client: SyncPrefectClient, target: Target) -> None:
    assert register_pool(client, target).outcome == "left"
    with pytest.raises(SettingsError, match="has type process, not docker"):
        register_pool(client, replace(target, pool_type="docker"))


@pytest.mark.parametrize("kind", ["process", "docker", "kubernetes"])
def test_the_template_of_a_pool_fits_what_prefect_says_of_its_type(
    client: SyncPrefectClient, tmp_path: Path, kind: PoolType
) -> None:
    target = Target(f"pool-{kind}", kind, tmp_path)
    assert register_pool(client, target).outcome == "made"
    template = client.read_work_pool(target.pool).base_job_template
    variables = template["variables"]
    defaults = {
        name: variable["default"]
        for name, variable in variables["properties"].items()
        if variable.get("default") is not None
    }
    validate(defaults, variables, raise_on_error=True)
    used = set(re.findall(r"{{ (\w+) }}", str(template["job_configuration"])))
    assert used <= set(variables["properties"])
    assert outcome(client, ANNOTATE, target) == "made"
