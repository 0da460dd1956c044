"""Laws of runs that write: who waits for approval, what it bounds, and who waits for the lease.

Covers `flows.runtime.approval`, `flows.runtime.runs`.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from contextvars import copy_context
from pathlib import Path
from threading import Event, Thread
from typing import Any
from uuid import UUID

import pytest
from prefect import Flow, flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import Pause
from prefect.flow_engine import run_flow
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import AwaitingRetry

from flows import entries
from flows.runtime.approval import Answer, approved, bounded, pause_key
from flows.runtime.runs import writing
from infra.errors import SettingsError, StoreBusyError
from infra.identity import RecipeId
from infra.settings import OperationSettings, ReannotationSettings, Settings, StoreSettings
from infra.store.database_file import writer_lock
from tasks.reports.plan import Amount, Expected, ReasonPlan, RunPlan
from tasks.statistics.intervals import Interval


def plan_of(usd: float | None = 2.0, high: float | None = 3.0, **pairs: int) -> RunPlan:
    """Return a plan with so many pairs for each reason."""
    expected = Expected(
        tokens=Amount(expected=200),
        usd=None
        if usd is None
        else Amount(expected=usd, interval=None if high is None else Interval(usd, 1.0, high)),
        minutes=Amount(expected=3),
        basis="made up",
    )
    reasons = [ReasonPlan(reason=name, pending=n, taken=n) for name, n in pairs.items()]
    return RunPlan(
        collection="c", recipe_id=RecipeId("r"), model="m", configuration="spec",
        candidates=300, fresh=0, reasons=tuple(reasons), expected=expected,
    )  # fmt: skip


PLAN = plan_of(outdated=200, new_queries=40)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=StoreSettings(folder=tmp_path), operation=OperationSettings(approve=True))


def test_nobody_is_asked_about_nothing() -> None:
    policy = ReannotationSettings()
    assert approved(plan_of(outdated=0), policy) is policy


def test_a_command_that_asks_for_approval_says_what_to_do_instead() -> None:
    with pytest.raises(SettingsError, match=r"start the deployment.*--plan shows.*--budget-usd"):
        approved(PLAN, ReannotationSettings())


def test_an_approved_plan_bounds_what_is_set_and_widens_nothing() -> None:
    def bounds(plan: RunPlan, **own: Any) -> tuple[int | None, float | None]:
        policy = bounded(pause_key(plan), ReannotationSettings(**own))
        return policy.pairs, policy.budget_usd

    assert bounds(PLAN) == (240, 3.0)
    assert bounds(PLAN, pairs=50, budget_usd=1.5) == (50, 1.5)
    assert bounds(PLAN, pairs=500, budget_usd=9.0) == (240, 3.0)
    assert bounds(plan_of(high=None, outdated=9)) == (9, 2.0)
    assert bounds(plan_of(usd=None, outdated=9)) == (9, None), "of unknown cost"


def test_the_form_is_one_answer_that_one_click_gives() -> None:
    fields = Answer.model_json_schema()["properties"]
    assert {name: field["default"] for name, field in fields.items()} == {
        "approved": True, "reason": "",
    }  # fmt: skip


@pytest.fixture
def client(prefect_server: str) -> Iterator[SyncPrefectClient]:
    with temporary_settings({PREFECT_API_URL: prefect_server}), get_client(sync_client=True) as it:
        yield it


class Deployed:
    """A run of a deployment of annotate, and the processes that work on it in turn."""

    def __init__(self, client: SyncPrefectClient, settings: Settings) -> None:
        self.client = client
        self.settings = settings
        self.plan = PLAN
        self.bounds: list[tuple[int | None, float | None]] = []
        self.then: Callable[[], object] = lambda: None
        self.flow: Flow[..., Any] = entries.annotate
        self.deployment = client.create_deployment(
            client.create_flow(self.flow), settings.store.folder.name, tags=["cosqa"]
        )
        self.begin()

    def begin(self, **parameters: Any) -> UUID:
        """Start another run, which is the one that is worked on from now on."""
        made = self.client.create_flow_run_from_deployment(self.deployment, parameters=parameters)
        self.run_id = made.id
        return made.id

    def annotate(self, *_: object) -> None:
        """Stand in for the flow: plan, have the plan approved, and go on."""
        policy = approved(self.plan, self.settings.reannotation)
        self.bounds.append((policy.pairs, policy.budget_usd))
        self.then()

    def work(self) -> FlowRun:
        """Do what a worker's process does; return the run as it left it."""
        with contextlib.suppress(Pause):
            run_flow(self.flow, flow_run=self.run, return_type="state")
        return self.run

    @property
    def run(self) -> FlowRun:
        """The run as the server has it."""
        return self.client.read_flow_run(UUID(str(self.run_id)))

    def resume(self, **answer: Any) -> str:
        """Press Resume with these values of the form; return what the server says to it."""
        return str(self.client.resume_flow_run(self.run_id, run_input=answer).status.value)

    def shown(self) -> str:
        """Return what stands above the form of the newest question."""
        keys = self.run.state.state_details.run_input_keyset  # type: ignore[union-attr]
        assert keys
        return str(self.client.read_flow_run_input(UUID(str(self.run_id)), keys["description"]))


@pytest.fixture
def deployed(
    client: SyncPrefectClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Deployed:
    deployed = Deployed(client, settings)
    monkeypatch.setattr(entries, "_called", deployed.annotate)
    # Prefect watches such a run for suspension by others in a thread with a loop of its own, which
    # ends, at times, with a connection open; nobody else suspends these runs.
    monkeypatch.setattr("prefect.flow_engine.observe_flow_run_suspension", lambda *_: nullcontext())
    return deployed


def test_a_run_waits_suspended_with_the_plan_above_a_form_and_goes_on_as_approved(
    deployed: Deployed,
) -> None:
    assert deployed.work().state_name == "Suspended"
    assert deployed.bounds == [], "the process has ended"
    assert "| outdated | 200 |" in deployed.shown()
    assert deployed.resume(unknown=1) == "REJECT", "the server checks the form"
    deployed.plan = plan_of(high=30.0, outdated=2_500, failed=7)  # it has grown while it waited
    assert deployed.resume() == "ACCEPT", "one click approves"
    assert deployed.run.state_name == "Resuming"
    assert deployed.work().state_name == "Completed"
    assert deployed.bounds == [(240, 3.0)], "what has come up is not approved"


def test_a_declined_run_ends_as_completed_and_judges_nothing(deployed: Deployed) -> None:
    deployed.work()
    deployed.resume(approved=False, reason="too dear")
    ended = deployed.work()
    assert ended.state
    assert (ended.state.name, ended.state.message) == (
        "Completed", "the plan was declined: too dear",
    )  # fmt: skip
    assert deployed.bounds == []


def test_a_run_that_is_started_again_after_its_end_asks_anew(
    deployed: Deployed, client: SyncPrefectClient
) -> None:
    deployed.work()
    deployed.resume()
    deployed.then = lambda: 1 / 0
    assert deployed.work().state_name == "Failed"
    deployed.plan = plan_of(outdated=70)
    client.set_flow_run_state(deployed.run_id, AwaitingRetry())  # Retry in the UI
    assert deployed.work().state_name == "Suspended"
    assert "| outdated | 70 |" in deployed.shown(), "the plan as it is now"
    deployed.then = lambda: None
    assert deployed.resume() == "ACCEPT"
    assert deployed.work().state_name == "Completed"
    assert deployed.bounds[-1] == (70, 3.0)


@pytest.mark.exhaustive
def test_a_run_that_was_approved_waits_for_the_run_that_writes(
    deployed: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.runtime.runs._GRACE_S", 0.1)
    store = StoreSettings(folder=tmp_path)
    has_begun = Event()

    def write() -> None:
        has_begun.set()
        with writing(store):
            pass

    deployed.work()
    deployed.resume()
    deployed.then = write
    with writer_lock(store, "a run of hours"):
        worker = Thread(target=copy_context().run, args=(deployed.work,))
        worker.start()
        assert has_begun.wait(150)
        worker.join(1.0)
        assert worker.is_alive(), "it is not skipped"
    worker.join(150)
    assert deployed.run.state_name == "Completed"


class Hours:
    """A clock whose sleeps take no time; another run of a day writes until ``other`` is closed."""

    def __init__(self, store: StoreSettings) -> None:
        self.now = 0.0
        self.store = store
        self.other = ExitStack()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now > 24 * 3600:
            self.other.close()

    def another_begins(self) -> None:
        self.other.enter_context(writer_lock(self.store, "another run"))


@pytest.fixture
def hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hours]:
    hours = Hours(StoreSettings(folder=tmp_path))
    monkeypatch.setattr("infra.store.database_file.time", hours)
    with hours.other:
        yield hours


@pytest.fixture(params=["command", "deployment"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.param == "deployment":
        monkeypatch.setattr("flows.runtime.runs.deployment.get_id", lambda: "its id")
    return request.param


@pytest.mark.usefixtures("prefect_server")
@pytest.mark.usefixtures("kind")
def test_a_run_that_has_written_waits_for_another_that_came_between_its_stages(
    hours: Hours,
) -> None:
    @flow
    def of_two_stages() -> str:
        with writing(hours.store):
            pass
        hours.another_begins()
        with writing(hours.store):
            return "written"

    assert of_two_stages() == "written"
    assert hours.now > 24 * 3600


@pytest.mark.usefixtures("prefect_server")
@pytest.mark.usefixtures("kind")
def test_a_run_that_has_not_written_yet_is_refused_while_another_writes(hours: Hours) -> None:
    @flow
    def of_one_stage() -> None:
        with writing(hours.store):
            pass

    of_one_stage()
    hours.another_begins()
    with pytest.raises(StoreBusyError, match="another run"):
        of_one_stage()
    assert hours.now < 3600
