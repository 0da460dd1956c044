"""Laws of the automations for runs whose process is gone, as a real server acts by them."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.events.schemas.automations import AutomationCore
from prefect.settings import PREFECT_HOME, temporary_settings
from prefect.states import Crashed

from flows.runtime.prefect_server import (
    api_address,
    await_server,
    is_private,
    server_process,
    settings_of_server,
    using_server,
)
from tests.prefect_api import lay_database
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]
CANCELLED = StateType.CANCELLED
FILE = Path(__file__).parents[2] / "infra" / "deploy" / "automations.yaml"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[SyncPrefectClient]:
    """Return a client of a server that lasts: a private one runs no automation."""
    auth = "cosqa:of-a-test"
    with ExitStack() as stack:
        lay_database(tmp_path)
        stack.enter_context(temporary_settings({PREFECT_HOME: tmp_path}))
        bound = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = bound.getsockname()[1]
        server = server_process(
            bound, {**os.environ, "PREFECT_HOME": str(tmp_path), **settings_of_server(port, auth)}
        )
        stack.callback(server.wait)
        stack.callback(server.terminate)
        await_server(server, lambda: is_private(port, auth))
        stack.enter_context(using_server(api_address(port), auth))
        yield stack.enter_context(get_client(sync_client=True))


def test_a_crashed_run_is_started_again_with_its_input_and_only_once(
    client: SyncPrefectClient,
) -> None:
    for former in client.read_automations():
        client.delete_automation(former.id)
    _, end, restart = yaml.safe_load(FILE.read_text("utf-8"))["automations"]
    created = [
        client.create_automation(AutomationCore.model_validate(each)) for each in (end, restart)
    ]
    flow_id = client.create_flow_from_name("crashes")
    ours, other, theirs = (
        client.create_deployment(flow_id, name, tags=tags)
        for name, tags in (("ours", ["cosqa"]), ("other", ["cosqa"]), ("theirs", ["theirs"]))
    )

    def runs(deployment: UUID) -> list[FlowRun]:
        chosen = DeploymentFilter(id=DeploymentFilterId(any_=[deployment]))
        return client.read_flow_runs(
            deployment_filter=chosen, sort=FlowRunSort.EXPECTED_START_TIME_ASC
        )

    def crash(deployment: UUID, answers: dict[str, Any]) -> None:
        started = client.create_flow_run_from_deployment(deployment, parameters=answers)
        client.set_flow_run_state(started.id, Crashed(), force=True)

    answers = {"path": 'a "quoted" {{ path }}', "top_k": 5, "encoders": ["minilm"]}
    try:
        crash(ours, answers)
        until(lambda: len(runs(ours)) == 2)
        assert [run.parameters for run in runs(ours)] == [answers, answers]
        client.set_flow_run_state(runs(ours)[1].id, Crashed(), force=True)
        crash(theirs, {})
        crash(other, {})
        until(lambda: len(runs(other)) == 2)
        assert (len(runs(ours)), len(runs(theirs))) == (2, 1)
        # The type for which Prefect's server, where it is no private one, ends tasks and subflows.
        until(lambda: all(run.state_type == CANCELLED for run in runs(ours)))
        assert {run.state_name for run in runs(ours)} == {"Crashed and ended"}
        assert [run.state_name for run in runs(theirs)] == ["Crashed"]
    finally:
        for each in created:
            client.delete_automation(each)
