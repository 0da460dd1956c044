"""Laws of prefect.yaml: all flows, parameters that they have, and chains that do not loop."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
import yaml
from prefect import Flow
from prefect.cli.deploy._triggers import DeploymentTriggerAdapter
from prefect.client.schemas.schedules import CronSchedule
from prefect.utilities.schema_tools.hydration import HydrationContext, hydrate

import flows
from flows import entries
from flows.runtime.runs import flow_of
from tests.flows.deployed import DEPLOYMENTS, FORMS, PREFECT_YAML

AFTER: dict[str, dict[str, Any]] = {
    name: trigger for name, each in DEPLOYMENTS.items() for trigger in each.get("triggers", [])
}


def test_every_flow_has_a_deployment_of_its_name() -> None:
    modules = [
        import_module(f"flows.{module.name}")
        for module in iter_modules(flows.__path__)
        if not module.ispkg and module.name not in ("entries", "options")
    ]
    found = [one for module in modules for one in vars(module).values() if isinstance(one, Flow)]
    assert sorted(DEPLOYMENTS) == sorted(flow.name for flow in found)
    assert {flow.name: flow for flow in found} == {
        name: flow_of(name.replace("-", "_")) for name in DEPLOYMENTS
    }, "each is found by its name"


def parameters_of(name: str) -> set[str]:
    return {*entries.form_of(FORMS[name]).parameters}


@pytest.mark.parametrize(("name", "deployment"), DEPLOYMENTS.items(), ids=DEPLOYMENTS)
def test_a_deployment_gives_its_flow_parameters_that_it_has_and_sees_whether_it_lives(
    name: str, deployment: Mapping[str, Any]
) -> None:
    assert {*deployment.get("parameters", {})} <= parameters_of(name)
    assert "cosqa" in deployment["tags"]
    environment = deployment["work_pool"]["job_variables"]["env"]
    assert environment["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
    assert environment["COSQA_FOLDER"] == "{{ $COSQA_FOLDER }}", "where its runs work"
    assert environment["PYTHONSAFEPATH"] == "1", "no module of that folder runs"
    for schedule in deployment.get("schedules", []):
        assert CronSchedule(cron=schedule["cron"], timezone="UTC"), "Prefect takes it"


def test_no_run_starts_in_the_folder_where_it_works() -> None:
    (step,) = yaml.safe_load(PREFECT_YAML.read_text("utf-8"))["pull"]
    assert step == {"prefect.deployments.steps.set_working_directory": {"directory": "/"}}


def starter_of(name: str) -> str:
    return str(AFTER[name]["match_related"]["prefect.resource.name"]) if name in AFTER else ""


def test_what_starts_what() -> None:
    assert {name: starter_of(name) for name in AFTER} == {
        "annotate": "collect",
        "evaluate": "publish",
    }


@pytest.mark.parametrize("name", AFTER)
def test_a_deployment_is_started_with_the_parameters_of_the_run_before_as_far_as_it_has_them(
    name: str,
) -> None:
    trigger = DeploymentTriggerAdapter.validate_python(AFTER[name])
    given = {asked: ['a "quoted"', {"b": None}] for asked in parameters_of(starter_of(name))}
    context = HydrationContext(
        jinja_context={"flow_run": {"parameters": given}},
        render_jinja=True,
    )
    shared = parameters_of(starter_of(name)) & parameters_of(name)
    assert hydrate(trigger.parameters or {}, context) == {asked: given[asked] for asked in shared}
