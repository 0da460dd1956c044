"""Laws of approval: who is asked, and that an answer bounds what a run does.

Covers `flows.runtime.approval`, `infra.settings.operation`.
"""

import contextlib
import io
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from prefect import flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import Pause
from prefect.flow_engine import run_flow
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Scheduled

from flows.runtime import approval
from flows.runtime.approval import Approval, Offer, approved, is_to_ask
from infra.errors import SettingsError
from infra.settings import OperationSettings

ALWAYS = OperationSettings(approval="always")
OFFER = Offer(
    plan_id="first",
    markdown="# The plan\n\n| reason | pairs |\n| --- | --- |\n| stale | 200 |",
    reasons={"stale": 200, "new_queries": 40, "audit": 0},
    usd=2.0,
)


@pytest.mark.parametrize(
    ("operation", "usd", "asks"),
    [
        (OperationSettings(), 1_000.0, False),
        (ALWAYS, 0.0, True),
        (OperationSettings(approval="above", approval_above_usd=2), 2.0, False),
        (OperationSettings(approval="above", approval_above_usd=2), 2.01, True),
        (OperationSettings(approval="above", approval_above_usd=2), None, True),
    ],
)
def test_the_policy_says_who_is_asked(
    operation: OperationSettings, usd: float | None, asks: bool
) -> None:
    assert is_to_ask(OFFER.model_copy(update={"usd": usd}), operation) is asks


def test_nobody_is_asked_about_nothing() -> None:
    assert not is_to_ask(OFFER.model_copy(update={"reasons": {"stale": 0}}), ALWAYS)


def test_a_command_without_a_terminal_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(SettingsError, match="no terminal to ask in"):
        approved(OFFER, ALWAYS)


@pytest.fixture
def client(prefect_server: str) -> Iterator[SyncPrefectClient]:
    with temporary_settings({PREFECT_API_URL: prefect_server}), get_client(sync_client=True) as it:
        yield it


class Deployed:
    """A deployment whose run asks for approval, and the processes that worked on it in turn."""

    def __init__(self, client: SyncPrefectClient) -> None:
        self.client = client
        self.answers: list[Approval] = []
        self.offer = OFFER
        self.operation = ALWAYS

        @flow(name="asks", persist_result=True)
        def asks() -> str:
            self.answers.append(approved(self.offer, self.operation))
            return self.answers[-1].decision

        self.flow = asks
        flow_id = client.create_flow(asks)
        self.deployment = client.create_deployment(flow_id, "asks")
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


def test_a_run_waits_suspended_with_the_plan_and_a_form_and_goes_on_as_approved(
    client: SyncPrefectClient,
) -> None:
    deployed = Deployed(client)
    waiting = deployed.work()
    assert waiting.state_name == "Suspended"
    assert deployed.answers == [], "the process has ended"
    shown = client.read_flow_run_input(waiting.id, "suspended-approval-description")
    assert "| stale | 200 |" in str(shown)
    refused = deployed.resume(budget_usd=-1)
    assert refused.status.value == "REJECT", "the server checks the form"
    deployed.offer = OFFER.model_copy(update={"plan_id": "second", "reasons": {"failed": 7}})
    deployed.resume(take_new_queries=False, budget_usd=1.5, decided_by="somebody")
    assert deployed.run.state_name == "Resuming"
    assert deployed.work().state_name == "Completed"
    assert deployed.answers == [
        Approval(
            decision="approved", reasons=("stale",), budget_usd=1.5, decided_by="somebody",
            plan_id="first",
        )
    ], "what was not on offer is not approved"  # fmt: skip


def test_one_click_approves_the_plan_as_it_stands(client: SyncPrefectClient) -> None:
    deployed = Deployed(client)
    deployed.work()
    deployed.resume()
    deployed.operation = OperationSettings()  # the answer counts although nobody would be asked now
    deployed.work()
    assert deployed.answers[0].reasons == ("stale", "new_queries")
    assert deployed.answers[0].decision == "approved"


def test_a_declined_plan_judges_nothing(client: SyncPrefectClient) -> None:
    deployed = Deployed(client)
    deployed.work()
    deployed.resume(decision="decline")
    assert deployed.work().state_name == "Completed"
    assert deployed.answers[0].decision == "declined"


def test_a_process_that_dies_between_offer_and_suspension_asks_again(
    client: SyncPrefectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed = Deployed(client)
    with monkeypatch.context() as patched:
        patched.setattr(approval, "suspend_flow_run", lambda **_: 1 / 0)
        deployed.work()
    client.set_flow_run_state(deployed.run_id, Scheduled(), force=True)
    assert deployed.work().state_name == "Suspended"
