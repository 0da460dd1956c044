"""Laws of chains: a completed run starts what comes after it, once, with the same input."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName
from prefect.client.schemas.objects import FlowRun
from prefect.flow_engine import run_flow
from prefect.logging import disable_run_logger
from prefect.states import AwaitingRetry

from flows import entries
from flows.runtime.chains import start_next
from flows.runtime.registration import Target, register_deployment, register_pool
from infra.errors import SettingsError, StoreBusyError
from tests.flows.deployed import deployment_named

ANSWERS = {"source": "jsonl", "path": 'a "quoted" {{ path }}', "top_k": 5, "encoders": ["minilm"]}


@pytest.fixture
def client(
    prefect_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SyncPrefectClient]:
    monkeypatch.chdir(tmp_path)
    target = Target("cosqa", "process", tmp_path)
    with get_client(sync_client=True) as client:
        register_pool(client, target)
        for name in ("collect", "annotate", "publish", "evaluate"):
            register_deployment(client, deployment_named(name), target)
        yield client
        for deployment in client.read_deployments():
            client.delete_deployment(deployment.id)


def runs(client: SyncPrefectClient, name: str) -> list[FlowRun]:
    chosen = DeploymentFilter(name=DeploymentFilterName(any_=[name]))
    return client.read_flow_runs(deployment_filter=chosen, limit=200)


def ended(
    client: SyncPrefectClient,
    monkeypatch: pytest.MonkeyPatch,
    name: str = "collect",
    error: Exception | None = None,
    run: FlowRun | None = None,
) -> FlowRun:
    """Return a deployment's run that has ended, well or by an error."""

    def call(*_: object, **__: object) -> None:
        if error:
            raise error

    monkeypatch.setattr(entries, "_called", call)
    identity = client.read_deployment_by_name(f"{name}/{name}").id
    run = run or client.create_flow_run_from_deployment(identity, parameters=ANSWERS)
    flow: Any = getattr(entries, name)
    run_flow(flow, flow_run=run, return_type="state")
    return client.read_flow_run(run.id)


@pytest.mark.parametrize(("name", "next_one"), [("collect", "annotate"), ("publish", "evaluate")])
def test_a_completed_run_has_started_the_next_with_the_answers_that_both_forms_ask_for(
    client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch, name: str, next_one: str
) -> None:
    assert ended(client, monkeypatch, name).state_name == "Completed"
    (started,) = runs(client, next_one)
    own = dict(deployment_named(next_one).parameters)
    assert started.parameters == own | ANSWERS
    assert started.state_name == "Scheduled"


@pytest.mark.parametrize("error", [StoreBusyError("in use"), SettingsError("wrong")])
def test_a_run_that_was_skipped_or_has_failed_starts_nothing(
    client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    assert ended(client, monkeypatch, error=error).state_name in ("Cancelled", "Failed")
    assert runs(client, "annotate") == []


def test_one_attempt_of_a_run_starts_the_next_once_and_its_retry_again(
    client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ended(client, monkeypatch)
    with disable_run_logger():
        for _ in range(2):  # as a client does that got no answer
            start_next(run)
    assert len(runs(client, "annotate")) == 1
    client.set_flow_run_state(run.id, AwaitingRetry(), force=True)
    ended(client, monkeypatch, run=client.read_flow_run(run.id))
    assert len(runs(client, "annotate")) == 2


def test_a_run_whose_next_cannot_be_started_is_no_completed_one_and_its_retry_starts_it(
    client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(
            SyncPrefectClient, "read_deployment", lambda *_: (_ for _ in ()).throw(OSError("away"))
        )
        failed = ended(client, monkeypatch)
    assert failed.state_name == "Failed"
    client.set_flow_run_state(failed.id, AwaitingRetry(), force=True)
    assert ended(client, monkeypatch, run=client.read_flow_run(failed.id)).state_name == "Completed"
    assert len(runs(client, "annotate")) == 1


def test_what_is_not_deployed_and_what_people_deployed_besides_is_not_chained(
    client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    annotate = client.read_deployment_by_name("annotate/annotate")
    theirs = client.create_deployment(annotate.flow_id, "their-annotate")
    client.delete_deployment(annotate.id)
    assert ended(client, monkeypatch).state_name == "Completed"
    assert client.read_deployment(theirs).name == "their-annotate"
    assert runs(client, "their-annotate") == []
