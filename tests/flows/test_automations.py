"""Laws of events and automations: a run's alarm is seen by a real server, which acts on it.

Covers `flows.runtime.automations`, `tasks.runtime.run_events`.
"""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from prefect import flow
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.sorting import FlowRunSort
from prefect.flow_engine import run_flow
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Crashed

from flows.deployments import TAG
from flows.runtime.automations import notifications, restart, stop_on_budget
from infra.errors import SettingsError
from infra.settings import OperationSettings
from tasks.runtime import run_events
from tasks.runtime.run_events import artifact_key, slug
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]


@pytest.fixture
def client(prefect_server: str) -> Iterator[SyncPrefectClient]:
    with temporary_settings({PREFECT_API_URL: prefect_server}), get_client(sync_client=True) as it:
        yield it


@pytest.fixture
def told() -> Iterator[tuple[str, list[bytes]]]:
    """A web hook: its address, and what it was sent."""
    sent: list[bytes] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", sent
        server.shutdown()
        thread.join()


def test_names_become_keys_that_prefect_takes() -> None:
    assert slug("Python Source (3.11)") == "python-source-3-11"
    assert artifact_key("funnel", "ümläut_x") == "funnel-ml-ut-x"
    assert slug("…") == "unnamed"


def test_a_block_that_is_not_there_is_named(client: SyncPrefectClient) -> None:
    with pytest.raises(SettingsError, match="no notification block slack-webhook/nowhere"):
        notifications(OperationSettings(notification_block="slack-webhook/nowhere"))


def test_a_spent_budget_pauses_the_deployment_and_people_are_told(
    client: SyncPrefectClient, told: tuple[str, list[bytes]]
) -> None:
    url, sent = told
    block = CustomWebhookNotificationBlock(
        name="test", url=url, json_data={"text": "{{subject}} {{body}}"}
    )
    block.save("alarms", overwrite=True)
    operation = OperationSettings(notification_block="custom-webhook/alarms")
    found = [stop_on_budget(), *notifications(operation)]
    assert all(item.name.startswith("cosqa: ") for item in found)

    @flow(name="judges")
    def judges() -> None:
        event = run_events.BUDGET_EXHAUSTED
        run_events.tell(event, "Python source", "all is spent", {"usd": 1.5})

    @flow(name="spends")
    def spends() -> None:
        judges()  # as `annotate-pairs` in `annotate`

    deployment = client.create_deployment(client.create_flow(spends), "spends")
    created = [client.create_automation(item) for item in found]
    try:
        run_flow(spends, flow_run=client.create_flow_run_from_deployment(deployment))
        until(lambda: client.read_deployment(deployment).paused)
        until(lambda: sent)
    finally:
        for identity in created:
            client.delete_automation(identity)
    assert b"all is spent" in sent[0]
    assert b"Python source" in sent[0]


def test_a_crashed_run_is_started_again_with_its_input_and_only_once(
    client: SyncPrefectClient,
) -> None:
    for former in client.read_automations():
        client.delete_automation(former.id)
    created = client.create_automation(restart())
    flow_id = client.create_flow_from_name("crashes")
    ours, other, theirs = (
        client.create_deployment(flow_id, name, tags=tags)
        for name, tags in (("ours", [TAG]), ("other", [TAG]), ("theirs", ["theirs"]))
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
    finally:
        client.delete_automation(created)
