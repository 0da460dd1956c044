"""Laws of the flows that deployments run: one for each, with its form as its parameters."""

from typing import Any

import pytest
from prefect import Flow
from prefect.exceptions import ParameterTypeError, SignatureMismatchError
from prefect.flows import load_flow_from_entrypoint
from prefect.utilities.callables import parameter_schema

from flows.deployments import DEPLOYMENTS, Deployment
from flows.forms import entries
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
