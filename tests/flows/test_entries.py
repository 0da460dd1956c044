"""Laws of the flows that deployments run: one for each, with its form as its parameters."""

from pathlib import Path
from typing import Any

import pytest
from prefect import Flow
from prefect.exceptions import ParameterTypeError, SignatureMismatchError
from prefect.flows import load_flow_from_entrypoint
from prefect.utilities.callables import parameter_schema

from flows import entries
from flows.deployments import DEPLOYMENTS, Deployment, form_of
from infra.errors import (
    BudgetExhaustedError,
    ModelRefusedError,
    RunBudgetExhaustedError,
    UnrecordableError,
)
from infra.settings import StoreSettings
from infra.store.runs import writer_lease
from tasks.runtime import run_events


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
