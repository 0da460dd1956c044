"""Laws of approval: who is asked, and that an answer bounds what a run does.

Covers `flows.runtime.approval`, `flows.runtime.run_inputs`, `flows.runtime.waiting_runs`,
`flows.runtime.writing`, `infra.settings.operation`.
"""

import contextlib
import io
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any
from uuid import UUID

import pytest
from prefect import flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.exceptions import Pause
from prefect.flow_engine import run_flow
from prefect.input.actions import read_flow_run_input
from prefect.logging import disable_run_logger
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import AwaitingRetry, Cancelled, Crashed, Pending, Scheduled

from flows.annotate import agreed
from flows.deployments import TAG
from flows.runtime import approval
from flows.runtime.approval import Approval, Offer, approved, form_for, is_to_ask
from flows.runtime.run_inputs import DECIDED_BY
from flows.runtime.waiting_runs import answer_run, due_runs, waiting_runs
from flows.runtime.writing import writing
from infra.errors import SettingsError
from infra.ids import RecipeId
from infra.settings import (
    OperationSettings,
    ReannotationSettings,
    Reason,
    Settings,
    StoreSettings,
)
from infra.store import Database, open_database
from infra.store.runs import last_plans, record_plan, writer_lease
from tasks.reports.plan import Amount, Expected, ReasonPlan, RunPlan
from tasks.stages.annotate.pending import Taken
from tasks.stages.annotate.plan import plan_annotation
from tasks.stages.annotate.run_plan import planned_run
from tests.tasks.stages.annotate.test_audit import PAIRS, Fickle, World
from tests.waiting import until

UI = "Prefect's UI or API"
ALWAYS = OperationSettings(approval="always")


def plan_of(usd: float | None = 2.0, **pairs: int) -> RunPlan:
    """Return a plan with so many pairs for each reason."""
    expected = Expected(
        tokens=Amount(expected=200),
        usd=None if usd is None else Amount(expected=usd),
        minutes=Amount(expected=3),
    )
    reasons = [ReasonPlan(reason=name, pending=n, taken=n) for name, n in pairs.items()]
    return RunPlan(
        collection="c", recipe_id=RecipeId("r"), model="m", configuration="gated",
        candidates=300, fresh=0, reasons=tuple(reasons), expected=expected, basis="made up",
    )  # fmt: skip


PLAN = plan_of(stale=200, new_queries=40, audit=0)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(StoreSettings(folder=tmp_path))


def stored(database: Database, plan: RunPlan) -> RunPlan:
    """Return a plan as it is after it was stored."""
    body = plan.model_dump(mode="json")
    plan_id = record_plan(database, plan.collection, plan.recipe_id, body)
    return plan.model_copy(update={"plan_id": plan_id})


def decisions(database: Database) -> list[tuple[str, str]]:
    """Return what was decided on each plan, and by whom, the first plan first."""
    plans = reversed(last_plans(database, limit=10))
    return [(plan.decision, plan.decided_by) for plan in plans]


@pytest.mark.parametrize(
    ("operation", "usd", "asks"),
    [
        (OperationSettings(), 200.0, False),
        (ALWAYS, 0.0, True),
        (OperationSettings(approval="above", approval_above_usd=2), 2.0, False),
        (OperationSettings(approval="above", approval_above_usd=2), 2.01, True),
        (OperationSettings(approval="above", approval_above_usd=2), None, True),
    ],
)
def test_the_policy_says_who_is_asked(
    operation: OperationSettings, usd: float | None, asks: bool
) -> None:
    assert is_to_ask(plan_of(usd, stale=3), operation) is asks


def test_nobody_is_asked_about_nothing() -> None:
    assert not is_to_ask(plan_of(stale=0), ALWAYS)


def test_a_command_without_a_terminal_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(SettingsError, match="no terminal to ask in"):
        approved(PLAN, database, ALWAYS)


@pytest.mark.parametrize(
    ("says", "decision", "reasons"),
    [(True, "approved", ("stale", "new_queries")), (False, "declined", ())],
)
def test_what_is_approved_in_a_terminal_is_what_it_showed(
    says: bool,
    decision: str,
    reasons: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    database: Database,
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: says)
    plan = stored(database, PLAN)
    with disable_run_logger():
        answer = approved(plan, database, ALWAYS)
    assert (answer.decision, answer.reasons) == (decision, reasons)
    assert answer.offer == Offer.of(plan)
    assert decisions(database) == [(decision, answer.decided_by)]


def test_what_is_approved_bounds_what_is_set_and_widens_nothing() -> None:
    policy = ReannotationSettings(take=("stale", "failed"), pairs=50)
    settings = Settings(reannotation=policy)
    given = Approval(
        decision="approved", reasons=("new_queries", "stale"), pairs=80, budget_usd=1.5
    )
    bound = given.bound(settings).reannotation
    assert (bound.take, bound.pairs, bound.budget_usd) == (("stale",), 50, 1.5)
    assert given.model_copy(update={"pairs": 20}).bound(settings).reannotation.pairs == 20
    offer = Offer(plan_id="p", reasons={"stale": 7, "audit": 9}, by_round={"stale": (7, 0)})
    offered = given.model_copy(update={"offer": offer})
    assert offered.bound(settings).reannotation.limits == {"audit": 9}, "no more than was offered"
    assert [offered.in_round(place) for place in (1, 2, 3)] == [{"stale": n} for n in (7, 0, 0)]
    assert given.in_round(1) is None
    assert Approval(decision="unasked").bound(settings) == settings
    assert Approval(decision="declined", reasons=()).bound(settings).reannotation.take == ()


@pytest.mark.parametrize("shown", [PAIRS, 5])
def test_all_of_an_approved_plan_is_judged_wherever_among_the_rounds_it_is_and_no_more(
    shown: int, tmp_path: Path
) -> None:
    """Of three rounds the second alone has pairs to judge; more of them may come up."""
    with Fickle() as model, disable_run_logger():
        world = World(tmp_path, model)
        of_rounds = world.settings.annotation.model_copy(update={"rounds": 3})
        settings = world.settings.model_copy(update={"annotation": of_rounds})
        world.judge(plan_annotation.fn(world.run.by(settings).rounds[2]))
        at_first = of_rounds.model_copy(update={"limit": shown})
        earlier = settings.model_copy(update={"annotation": at_first})
        plan = planned_run(world.database, world.run.by(earlier))
        given = Approval(decision="approved", offer=Offer.of(plan))
        assert given.in_round(2) == {"new_queries": shown}
        taken: list[Taken] = []
        for item in world.run.by(given.bound(settings)).rounds:
            offered = given.in_round(item.recipe.place)
            taken += plan_annotation.fn(item, taken, offered).reasons
    assert taken == [Taken("new_queries", shown)]


@pytest.fixture
def client(prefect_server: str) -> Iterator[SyncPrefectClient]:
    with temporary_settings({PREFECT_API_URL: prefect_server}), get_client(sync_client=True) as it:
        yield it


@pytest.mark.parametrize(
    ("says", "begins"), [(True, "annotate 240 of"), (False, "annotate, declined: 240 of")]
)
def test_a_run_is_named_by_its_plan_and_one_that_was_declined_says_so(
    says: bool, begins: str, client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch,
    database: Database,
) -> None:  # fmt: skip
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: says)
    settings = Settings(store=database.settings, operation=ALWAYS)
    plan = stored(database, PLAN)

    @flow(name="annotate")
    def annotate() -> UUID:
        agreed(plan, settings)
        return UUID(str(flow_run.id))

    assert client.read_flow_run(annotate()).name.startswith(begins)


class Deployed:
    """A deployment whose run asks for approval, and the processes that worked on it in turn."""

    def __init__(self, client: SyncPrefectClient, database: Database) -> None:
        self.client = client
        self.database = database
        self.answers: list[Approval] = []
        self.plan = PLAN
        self.operation = ALWAYS
        self.first: Callable[[], object] = lambda: None
        self.then: Callable[[], object] = lambda: None

        @flow(name="asks", persist_result=True)
        def asks() -> str:
            self.first()
            plan = stored(database, self.plan)
            self.answers.append(approved(plan, database, self.operation))
            self.then()
            return self.answers[-1].decision

        self.flow = asks
        flow_id = client.create_flow(asks)
        self.deployment = client.create_deployment(flow_id, "asks", tags=[TAG])
        self.run_id = client.create_flow_run_from_deployment(self.deployment).id

    def work(self) -> FlowRun:
        """Do what a worker's process does; return the run as it left it."""
        with contextlib.suppress(Pause):
            run_flow(self.flow, flow_run=self.run, return_type="state")
        return self.run

    @property
    def run(self) -> FlowRun:
        """The run as the server has it."""
        return self.client.read_flow_run(UUID(str(self.run_id)))

    def resume(self, **answer: Any) -> Any:
        """Press Resume with these values of the form."""
        return self.client.resume_flow_run(self.run_id, run_input=answer)


def offered(deployed: Deployed) -> dict[Reason, int]:
    """Return the pairs that were before the person who answered last."""
    offer = deployed.answers[-1].offer
    assert offer
    return offer.reasons


@pytest.fixture
def deployed(client: SyncPrefectClient, database: Database) -> Deployed:
    return Deployed(client, database)


def test_a_run_waits_suspended_with_the_plan_and_a_form_and_goes_on_as_approved(
    deployed: Deployed, database: Database
) -> None:
    waiting = deployed.work()
    assert waiting.state_name == "Suspended"
    assert deployed.answers == [], "the process has ended"
    assert decisions(database) == [("waiting", "")]
    shown = deployed.client.read_flow_run_input(waiting.id, "suspended-approval-description")
    assert "| stale | 200 |" in str(shown)
    faults: list[dict[str, object]] = [{"budget_usd": 0}, {"reasons": ["failed"]}, {"unknown": 1}]
    for wrong in faults:
        refused = deployed.resume(**wrong)
        assert refused.status.value == "REJECT", "the server checks the form"
    deployed.plan = plan_of(stale=2_500, failed=7)  # it has grown while it waited
    deployed.resume(reasons=["stale"], budget_usd=1.5)
    assert deployed.run.state_name == "Resuming"
    assert deployed.work().state_name == "Completed"
    expected = Approval(
        decision="approved",
        reasons=("stale",),
        budget_usd=1.5,
        offer=deployed.answers[0].offer,
        decided_by=UI,
    )
    assert deployed.answers == [expected]
    assert offered(deployed) == {"stale": 200, "new_queries": 40}, "what has come up is not"
    assert decisions(database) == [("approved", UI)] * 2


def test_a_run_that_is_started_again_after_its_end_asks_anew(
    deployed: Deployed, client: SyncPrefectClient
) -> None:
    deployed.work()
    deployed.resume(reasons=["stale"])
    deployed.then = lambda: 1 / 0
    assert deployed.work().state_name == "Failed"
    deployed.plan = plan_of(stale=70)
    client.set_flow_run_state(deployed.run_id, AwaitingRetry())  # Retry in the UI
    assert deployed.work().state_name == "Suspended"
    shown = client.read_flow_run_input(deployed.run_id, "suspended-approval-description")
    assert "| stale | 70 |" in str(shown), "the plan as it is now"
    deployed.then = lambda: None
    assert deployed.resume().status.value == "ACCEPT"
    assert deployed.work().state_name == "Completed"
    assert offered(deployed) == {"stale": 70}


@pytest.mark.exhaustive
def test_a_living_run_that_was_taken_for_dead_can_ask(
    deployed: Deployed, client: SyncPrefectClient
) -> None:
    deployed.first = lambda: client.set_flow_run_state(deployed.run_id, Crashed(), force=True)
    assert deployed.work().state_name == "Suspended"

    def said() -> int:
        events = client.request(
            "POST",
            "/events/filter",
            json={
                "filter": {
                    "event": {"name": ["prefect.flow-run.Suspended"]},
                    "resource": {"id": [f"prefect.flow-run.{deployed.run_id}"]},
                }
            },
        )
        return len(events.json()["events"])

    until(lambda: said() >= 2, awaited="the second one comes after all signs of life")


@pytest.mark.exhaustive
def test_a_run_that_was_approved_waits_for_the_run_that_writes(
    deployed: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.runtime.writing._GRACE_S", 0.1)
    store = StoreSettings(folder=tmp_path)
    has_begun = Event()

    def write() -> None:
        has_begun.set()
        with writing(store):
            pass

    deployed.work()
    deployed.resume()
    deployed.then = write
    with writer_lease(store, "an audit of hours"):
        worker = Thread(target=deployed.work)
        worker.start()
        assert has_begun.wait(150)
        worker.join(1.0)
        assert worker.is_alive(), "it is not skipped"
    worker.join(150)
    assert deployed.run.state_name == "Completed"


@pytest.mark.exhaustive
def test_one_click_approves_the_plan_as_it_stands(deployed: Deployed) -> None:
    deployed.work()
    deployed.resume()
    deployed.operation = OperationSettings()  # the answer counts although nobody would be asked now
    deployed.work()
    assert deployed.answers[0].reasons == ("stale", "new_queries")
    assert deployed.answers[0].decision == "approved"


@pytest.mark.exhaustive
def test_a_declined_plan_judges_nothing(deployed: Deployed, database: Database) -> None:
    deployed.work()
    deployed.resume(reasons=[])
    assert deployed.work().state_name == "Completed"
    assert deployed.answers[0].reasons == ()
    assert decisions(database) == [("declined", UI)] * 2


def test_the_form_has_three_fields_that_both_user_interfaces_show_and_send() -> None:
    schema = form_for(Offer.of(PLAN), "the plan").model_json_schema()
    fields = schema["properties"]
    assert list(fields) == ["reasons", "budget_usd", "pairs"]
    assert fields["reasons"]["default"] == ["stale", "new_queries"]
    assert [name for name, field in fields.items() if "default" not in field] == [
        "budget_usd", "pairs",
    ], "an empty field is left out, not sent as null"  # fmt: skip
    assert {fields[name]["type"] for name in ("budget_usd", "pairs")} == {"number", "integer"}


def test_a_single_reason_is_a_choice_too() -> None:
    schema = form_for(
        Offer(plan_id="p", reasons={"stale": 3}, by_round={"stale": (3,)}), "the plan"
    ).model_json_schema()
    assert schema["properties"]["reasons"]["items"] == {"type": "string", "enum": ["stale"]}


@pytest.mark.exhaustive
def test_a_plan_that_nobody_answered_is_closed_by_the_next_one(
    deployed: Deployed, client: SyncPrefectClient, database: Database
) -> None:
    deployed.work()
    client.set_flow_run_state(deployed.run_id, Cancelled(), force=True)
    Deployed(client, database).work()
    assert decisions(database) == [("declined", "nobody: a later plan came"), ("waiting", "")]


@pytest.mark.exhaustive
def test_a_process_that_dies_between_offer_and_suspension_asks_again(
    deployed: Deployed, client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(approval, "suspend_flow_run", lambda **_: 1 / 0)
        deployed.work()
    client.set_flow_run_state(deployed.run_id, Scheduled(), force=True)
    assert deployed.work().state_name == "Suspended"


def test_what_comes_is_named_by_its_deployment_and_only_ours_is_told(
    client: SyncPrefectClient,
) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=1)
    for name, tags in (("collect", [TAG]), ("theirs", [])):
        made = client.create_deployment(client.create_flow_from_name(name), name, tags=tags)
        client.create_flow_run_from_deployment(made, state=Scheduled(scheduled_time=soon))
    assert [
        (run.name, run.starts_at) for run in due_runs(client, 200) if run.starts_at == soon
    ] == [("collect", soon)]


def test_what_no_worker_has_begun_is_told_whole_however_much_else_comes(
    client: SyncPrefectClient,
) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=365)
    made = client.create_deployment(client.create_flow_from_name("late"), "late", tags=[TAG])
    late: State[Any] = Scheduled(scheduled_time=long_ago)
    states: list[State[Any]] = [late, late, Pending()]
    runs = [client.create_flow_run_from_deployment(made, state=state) for state in states]
    for days in (1, 2):
        later: State[Any] = Scheduled(scheduled_time=datetime.now(UTC) + timedelta(days=days))
        runs.append(client.create_flow_run_from_deployment(made, state=later))
    try:
        assert [run.name for run in due_runs(client, 0)].count("late") == 3
    finally:
        for run in runs:
            client.delete_flow_run(run.id)


def test_of_two_runs_that_come_to_ask_with_one_plan_one_waits(
    deployed: Deployed, client: SyncPrefectClient, tmp_path: Path
) -> None:
    """The answers of their forms differ, and what they are to do is the same."""
    assert deployed.work().state_name == "Suspended"
    second = Deployed(client, deployed.database)
    second.operation = OperationSettings(approval="above", approval_above_usd=0.5)
    refused = second.work()
    assert refused.state_name == "Failed", "which a deployment's flow turns into Cancelled"
    assert "waits for approval of the same plan" in str(refused.state and refused.state.message)
    assert decisions(deployed.database)[0] == ("waiting", ""), "the first one goes on waiting"
    third = Deployed(client, deployed.database)
    third.plan = plan_of(stale=201, new_queries=40, audit=0)
    assert third.work().state_name == "Suspended", "another plan"
    for each in (deployed, third):
        client.delete_flow_run(each.run.id)


def test_a_run_that_waits_is_answered_from_a_terminal(
    deployed: Deployed, client: SyncPrefectClient
) -> None:
    deployed.work()
    (waiting,) = [run for run in waiting_runs(client) if run.id == deployed.run_id]
    with pytest.raises(SettingsError, match="no pairs for failed; it has: stale, new_queries"):
        answer_run(str(waiting.id), {}, ["failed"])
    with pytest.raises(SettingsError, match="no waiting run begins with 'nobody'"):
        answer_run("nobody", {})
    with pytest.raises(SettingsError, match="does not resume"):
        answer_run(str(waiting.id), {"pairs": 0})
    assert read_flow_run_input(DECIDED_BY, waiting.id) is None, "that was no decision"
    answer_run(str(waiting.id)[:13], {"pairs": 9}, ["stale"])
    assert deployed.run_id not in [run.id for run in waiting_runs(client)]
    deployed.work()
    (answer,) = deployed.answers
    assert (answer.reasons, answer.pairs) == (("stale",), 9)
    assert "@" in answer.decided_by
