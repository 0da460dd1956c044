"""Laws of the deployments as data: all flows, no loops, and prefect.yaml made of them.

Covers `flows.runtime.prefect_yaml`.
"""

from pathlib import Path
from pkgutil import iter_modules

import pytest
import yaml
from prefect.client.schemas.schedules import CronSchedule

import flows
from flows.deployments import DEPLOYMENTS, TAG
from flows.runtime.prefect_yaml import prefect_yaml

ROOT = Path(__file__).parents[2]
NAMES = [deployment.name for deployment in DEPLOYMENTS]


def test_every_flow_has_a_deployment_of_its_name() -> None:
    files = {
        module.name.replace("_", "-")
        for module in iter_modules(flows.__path__)
        if not module.ispkg and module.name not in ("deployments", "entries", "options")
    }
    assert sorted(NAMES) == sorted(files)


def test_prefect_yaml_is_what_the_deployments_give() -> None:
    text = (ROOT / "prefect.yaml").read_text("utf-8")
    assert text == prefect_yaml(), "run `cosqa deploy --yaml > prefect.yaml`"
    entries = yaml.safe_load(text)["deployments"]
    assert [entry["name"] for entry in entries] == NAMES
    assert all(TAG in entry["tags"] for entry in entries)


def test_nothing_starts_itself_or_what_started_it() -> None:
    after = {deployment.name: deployment.after for deployment in DEPLOYMENTS}
    for name in NAMES:
        seen = [name]
        while after[seen[-1]]:
            seen.append(after[seen[-1]])
            assert seen[-1] in NAMES
            assert len(seen) == len(set(seen)), " after ".join(seen)


def test_the_whole_pipeline_neither_starts_its_steps_nor_is_started_by_them() -> None:
    assert all(deployment.after != "benchmark" for deployment in DEPLOYMENTS)
    (whole,) = (deployment for deployment in DEPLOYMENTS if deployment.name == "benchmark")
    assert whole.after == ""


@pytest.mark.parametrize(
    "cron", [schedule.cron for deployment in DEPLOYMENTS for schedule in deployment.schedules]
)
def test_schedules_have_times(cron: str) -> None:
    assert CronSchedule(cron=cron, timezone="UTC").cron == cron, "Prefect takes it"
