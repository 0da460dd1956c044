"""Laws of the flows that deployments run: one for each, with its form as its parameters."""

from pathlib import Path
from typing import Any

import pytest
from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.exceptions import ParameterTypeError, SignatureMismatchError
from prefect.flow_engine import run_flow
from prefect.flows import load_flow_from_entrypoint
from prefect.input.actions import create_flow_run_input
from prefect.states import Running, Suspended
from prefect.utilities.callables import parameter_schema

from flows.deployments import DEPLOYMENTS, Deployment, deployment_named
from flows.forms import entries
from flows.runtime.registration import Target, register_deployment, register_pool
from flows.runtime.run_inputs import FORM_KEY, PAUSE_KEY
from infra.settings import StoreSettings
from infra.store.lease import writer_lease


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda each: each.name)
def test_the_entrypoint_of_a_deployment_is_a_flow_of_its_name_and_form(
    deployment: Deployment,
) -> None:
    flow: Flow[..., Any] = load_flow_from_entrypoint(deployment.entrypoint)
    assert flow.name == deployment.name
    asked = parameter_schema(flow).model_dump_for_openapi()["properties"]
    expected = deployment.form.schema["properties"]
    assert [{**asked[name], "default": None} for name in asked] == [
        {**question, "default": None} for question in expected.values()
    ]


def test_a_wrong_answer_is_refused_before_the_run_begins() -> None:
    with pytest.raises(ParameterTypeError, match="top_k"):
        entries.annotate.validate_parameters({"top_k": 0})
    with pytest.raises(SignatureMismatchError, match="api_key"):
        entries.annotate.validate_parameters({"api_key": "sk"})


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
        state: Any = entries.collect(source="jsonl", path="src", return_state=True)
    assert state.is_cancelled()
    assert "annotate-nightly (process " in str(state.message)


def test_a_run_is_skipped_while_one_with_the_same_answers_waits_for_approval(
    prefect_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = Target("cosqa", "process", tmp_path)
    with get_client(sync_client=True) as client:
        register_pool(client, target)
        identity, _ = register_deployment(client, deployment_named("annotate"), target)
        asked = {"path": "absent"}
        first = client.create_flow_run_from_deployment(identity, name="first", parameters=asked)
        client.set_flow_run_state(first.id, Running(), force=True)
        client.set_flow_run_state(first.id, Suspended(pause_key=PAUSE_KEY), force=True)
        create_flow_run_input(FORM_KEY, {"title": "of the plan"}, flow_run_id=first.id)
        same = client.create_flow_run_from_deployment(identity, parameters=asked)
        state: Any = run_flow(entries.annotate, flow_run=same, return_type="state")
        assert state.is_cancelled()
        assert "'first' waits for approval" in state.message
        other = client.create_flow_run_from_deployment(identity, parameters={"path": "nowhere"})
        resumed = client.create_flow_run_from_deployment(identity, parameters=asked)
        resumed.empirical_policy.pause_keys = {PAUSE_KEY}  # as the server has it of one answered
        for run in (other, resumed):
            state = run_flow(entries.annotate, flow_run=run, return_type="state")
            assert state.is_failed(), "it goes its own way"
        client.delete_flow_run(first.id)
