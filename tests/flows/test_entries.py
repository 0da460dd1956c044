"""Laws of the flows that deployments run: one for each, with its form as its parameters."""

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect import Flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.exceptions import ParameterTypeError, SignatureMismatchError
from prefect.flow_engine import run_flow
from prefect.flows import load_flow_from_entrypoint
from prefect.input.actions import create_flow_run_input
from prefect.logging import disable_run_logger
from prefect.states import AwaitingRetry, Running, Suspended
from prefect.utilities.callables import parameter_schema

from flows import entries
from flows.deployments import DEPLOYMENTS, Deployment, form_of
from flows.runtime.chains import start_next
from flows.runtime.registration import Target, register_deployment, register_pool
from flows.runtime.run_inputs import FORM_KEY, PAUSE_KEY
from infra.errors import (
    BudgetExhaustedError,
    ModelRefusedError,
    RunBudgetExhaustedError,
    UnrecordableError,
)
from infra.settings import StoreSettings
from infra.store.runs import writer_lease
from tasks.runtime import run_events
from tests.flows.deployed import deployment_named


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda each: each.name)
def test_the_entrypoint_of_a_deployment_is_a_flow_of_its_name_and_form(
    deployment: Deployment,
) -> None:
    flow: Flow[..., Any] = load_flow_from_entrypoint(deployment.entrypoint)
    assert flow.name == deployment.name
    asked = parameter_schema(flow).properties
    assert [*asked] == [*form_of(deployment.options).parameters]


def test_a_wrong_answer_is_refused_before_the_run_begins() -> None:
    with pytest.raises(ParameterTypeError, match="top_k"):
        entries.FLOWS["annotate"].validate_parameters({"top_k": 0})
    for unknown in ("nothing_of_this_name", "settings", "api_key"):
        with pytest.raises(SignatureMismatchError, match=unknown):
            entries.FLOWS["annotate"].validate_parameters({unknown: "x"})


@pytest.mark.usefixtures("prefect_server")
def test_a_run_that_finds_the_store_being_written_ends_as_cancelled_and_says_by_whom(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "queries.jsonl").write_text('{"query": "add one"}\n')
    (tmp_path / "src" / "codes.jsonl").write_text('{"code": "def f(x):\\n    return x + 1"}\n')
    monkeypatch.chdir(tmp_path)
    store = StoreSettings(folder=tmp_path / "cosqa-data")
    with writer_lease(store, "annotate-nightly"):
        state: Any = entries.FLOWS["collect"](source="jsonl", path="src", return_state=True)
    assert state.is_cancelled()
    assert "annotate-nightly (process " in str(state.message)


def test_a_run_is_skipped_while_one_with_the_same_answers_waits_for_approval(
    prefect_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = Target("cosqa", "process", tmp_path)
    with get_client(sync_client=True) as client:
        register_pool(client, target)
        register_deployment(client, deployment_named("annotate"), target)
        identity = client.read_deployment_by_name("annotate/annotate").id
        asked = {"path": "absent"}
        first = client.create_flow_run_from_deployment(identity, name="first", parameters=asked)
        client.set_flow_run_state(first.id, Running(), force=True)
        client.set_flow_run_state(first.id, Suspended(pause_key=PAUSE_KEY), force=True)
        create_flow_run_input(FORM_KEY, {"title": "of the plan"}, flow_run_id=first.id)
        same = client.create_flow_run_from_deployment(identity, parameters=asked)
        state: Any = run_flow(entries.FLOWS["annotate"], flow_run=same, return_type="state")
        assert state.is_cancelled()
        assert "'first' waits for approval" in state.message
        other = client.create_flow_run_from_deployment(identity, parameters={"path": "nowhere"})
        resumed = client.create_flow_run_from_deployment(identity, parameters=asked)
        resumed.empirical_policy.pause_keys = {PAUSE_KEY}  # as the server has it of one answered
        for run in (other, resumed):
            state = run_flow(entries.FLOWS["annotate"], flow_run=run, return_type="state")
            assert state.is_failed(), "it goes its own way"
        client.delete_flow_run(first.id)


def by_automation(client: SyncPrefectClient, deployment: UUID) -> FlowRun:
    """Return a run that the server makes of a deployment as its automations ask for it."""
    named = b64encode(b"annotate after collect").decode()
    made = client.request(
        "POST",
        "/deployments/{id}/create_flow_run",
        path_params={"id": deployment},
        json={"parameters": {"path": "absent"}, "state": {"type": "SCHEDULED"}},
        headers={"Prefect-Automation-ID": str(uuid4()), "Prefect-Automation-Name": named},
    )
    return client.read_flow_run(UUID(made.json()["id"]))


def by_chain(client: SyncPrefectClient, deployment: UUID) -> FlowRun:
    """Return a run that a completed `collect` starts."""
    collect = client.read_deployment_by_name("collect/collect").id
    start_next(client.create_flow_run_from_deployment(collect, parameters={"path": "absent"}))
    (run,) = [
        run
        for run in client.read_flow_runs(deployment_filter=one(deployment), limit=200)
        if run.state_type == StateType.SCHEDULED
    ]
    return run


def one(deployment: UUID) -> DeploymentFilter:
    return DeploymentFilter(id=DeploymentFilterId(any_=[deployment]))


@pytest.mark.parametrize("start", [by_automation, by_chain])
def test_of_a_paused_deployment_what_starts_by_itself_does_nothing_and_a_person_s_run_does(
    start: Callable[[SyncPrefectClient, UUID], FlowRun],
    prefect_server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    target = Target("cosqa", "process", tmp_path)

    def end(run: FlowRun) -> Any:
        return run_flow(entries.FLOWS["annotate"], flow_run=run, return_type="state")

    with get_client(sync_client=True) as client:
        register_pool(client, target)
        for name in ("collect", "annotate"):
            register_deployment(client, deployment_named(name), target)
        identity = client.read_deployment_by_name("annotate/annotate").id
        with disable_run_logger():
            assert end(start(client, identity)).is_failed(), "it goes its own way"
            client.pause_deployment(identity)
            skipped = start(client, identity)
        try:
            state = end(skipped)
            assert state.is_cancelled()
            assert "its deployment is paused" in state.message
            assert "`cosqa resume --deployment annotate`" in state.message
            client.set_flow_run_state(skipped.id, AwaitingRetry(), force=True)  # Retry in the UI
            by_hand = client.create_flow_run_from_deployment(identity, parameters={"path": "none"})
            for run in (by_hand, client.read_flow_run(skipped.id)):
                assert end(run).is_failed(), "it goes its own way"
        finally:
            client.resume_deployment(identity)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The events of this test: the name of each, and its message."""
    sent: list[tuple[str, str]] = []

    def emit(event: str, **details: Any) -> None:
        sent.append((event, details["payload"]["message"]))

    monkeypatch.setattr(run_events, "emit_event", emit)
    return sent


def ended_by(error: Exception, monkeypatch: pytest.MonkeyPatch, *, is_told: bool = False) -> Any:
    """Return the state of an `evaluate` that ends by an error, which a stage may have told of."""

    def fail(*_: object, **__: object) -> None:
        if is_told:
            run_events.tell(run_events.BUDGET_EXHAUSTED, "c", str(error), {})
        raise error

    monkeypatch.setattr(entries, "_called", fail)
    return entries.FLOWS["evaluate"](return_state=True)


SPENT = BudgetExhaustedError("all is spent")


@pytest.mark.usefixtures("prefect_server")
@pytest.mark.parametrize("error", [SPENT, ExceptionGroup("of workers", [SPENT, SPENT])])
@pytest.mark.parametrize("is_told", [False, True])
def test_a_spent_budget_that_ends_a_run_is_told_once_whichever_flow_it_is(
    told: list[tuple[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    is_told: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ended_by(error, monkeypatch, is_told=is_told).is_failed()
    assert [event for event, _ in told] == [run_events.BUDGET_EXHAUSTED]
    assert is_told or told[0][1] == "all is spent"


@pytest.mark.usefixtures("prefect_server")
@pytest.mark.parametrize("kind", [RunBudgetExhaustedError, UnrecordableError, ModelRefusedError])
def test_what_ends_one_run_alone_is_not_told_as_a_budget_of_all(
    told: list[tuple[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Exception],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ended_by(kind("no more"), monkeypatch).is_failed()
    assert told == []
