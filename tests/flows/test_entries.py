"""Laws of the flows that deployments run: one for each, with its form as its parameters."""

from typing import Any

import pytest
from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.exceptions import ParameterTypeError, SignatureMismatchError
from prefect.flows import load_flow_from_entrypoint
from prefect.utilities.callables import parameter_schema

from flows import entries
from flows.entries import form_of
from infra.settings import StoreSettings
from infra.store.database_file import writer_lock
from tests.flows.deployed import DEPLOYMENTS, FORMS


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_the_entrypoint_of_a_deployment_is_a_flow_of_its_name_and_form(name: str) -> None:
    flow: Flow[..., Any] = load_flow_from_entrypoint(DEPLOYMENTS[name]["entrypoint"])
    assert flow.name == name
    asked = parameter_schema(flow).properties
    assert [*asked] == [*form_of(FORMS[name]).parameters]


def test_a_wrong_answer_is_refused_before_the_run_begins() -> None:
    with pytest.raises(ParameterTypeError, match="top_k"):
        entries.annotate.validate_parameters({"top_k": 0})
    for unknown in ("nothing_of_this_name", "settings", "api_key"):
        with pytest.raises(SignatureMismatchError, match=unknown):
            entries.annotate.validate_parameters({unknown: "x"})


@pytest.mark.usefixtures("prefect_server")
def test_a_run_that_finds_the_store_being_written_ends_as_cancelled_and_says_by_whom(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "queries.jsonl").write_text('{"query": "add one"}\n')
    (tmp_path / "src" / "codes.jsonl").write_text('{"code": "def f(x):\\n    return x + 1"}\n')
    monkeypatch.chdir(tmp_path)
    store = StoreSettings(folder=tmp_path / "cosqa-data")
    with writer_lock(store, "annotate-nightly"):
        state: Any = entries.collect(source="jsonl", path="src", return_state=True)
    assert state.is_cancelled()
    assert "annotate-nightly (process " in str(state.message)


@pytest.mark.usefixtures("prefect_server")
def test_a_run_without_answers_is_named_by_the_collection_of_its_folder(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "cosqa.toml").write_text(
        '[source]\nname = "jsonl"\npath = "src"\ncollection = "our-helpers"\n'
    )
    monkeypatch.chdir("/")
    monkeypatch.setenv("COSQA_FOLDER", str(tmp_path))
    state: Any = entries.collect(return_state=True)  # a schedule's: it fails, as nothing is there
    with get_client(sync_client=True) as client:
        run = client.read_flow_run(state.state_details.flow_run_id)
    assert run.name.startswith("collect our-helpers, ")
