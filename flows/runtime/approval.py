"""Approval of an annotation's plan by a person, before anything is paid for.

A run of a deployment is suspended: its process ends, it holds nothing, and the plan stands with a
form in the Prefect UI. Resume makes a worker start it anew; the plan is made again, and what was
approved bounds it. So it does not matter how long people take, nor whether server, worker or
machine are restarted meanwhile. A command asks in its terminal instead.
"""

import sys
from datetime import timedelta
from typing import Any, Literal

import typer
from prefect.flow_runs import suspend_flow_run
from prefect.input import RunInput
from prefect.input.actions import create_flow_run_input, read_flow_run_input
from prefect.logging import get_run_logger
from prefect.runtime import deployment
from pydantic import Field, create_model

from infra.errors import SettingsError
from infra.records import Record
from infra.settings import OperationSettings, Settings
from infra.store.controls import this_user

_KEY = "approval"
_OFFERED = "cosqa-offer"
TAKE = "take_"
FORM_KEY = f"suspended-{_KEY}-schema"  # as Prefect names it


class Offer(Record):
    """A plan as it is put before a person.

    Attributes:
        plan_id: The plan in the store.
        markdown: The plan for people.
        reasons: Reason → pairs that it would judge.
        usd: Its expected cost; None if that is not known.
    """

    plan_id: str
    markdown: str
    reasons: dict[str, int]
    usd: float | None


class Approval(Record):
    """What may be judged; None leaves it as planned.

    Attributes:
        decision: Whether anybody was asked, and the answer.
        reasons: Reasons whose pairs may be judged.
        pairs: The most pairs.
        budget_usd: The most US dollars.
        decided_by: Who answered, as far as is known.
        plan_id: The plan that was put before them; empty if nobody was asked.
    """

    decision: Literal["unasked", "approved", "declined"]
    reasons: tuple[str, ...] | None = None
    pairs: int | None = None
    budget_usd: float | None = None
    decided_by: str = ""
    plan_id: str = ""

    def bound(self, settings: Settings) -> Settings:
        """Return settings that take no more than what was approved."""
        policy = settings.reannotation
        least = {"pairs": self.pairs, "budget_usd": self.budget_usd}
        update: dict[str, object] = {
            name: value if getattr(policy, name) is None else min(value, getattr(policy, name))
            for name, value in least.items()
            if value is not None
        }
        if self.reasons is not None:
            update["take"] = tuple(name for name in policy.take if name in self.reasons)
        return settings.model_copy(update={"reannotation": policy.model_copy(update=update)})


class Answer(RunInput):
    """The form; a switch for each reason of the plan comes after these fields."""

    decision: Literal["approve", "decline"] = Field(
        "approve", title="Decision", description="Decline ends the run; it judges nothing."
    )
    budget_usd: float | None = Field(
        None, ge=0, title="Budget in US dollars", description="For this run; empty: as set up."
    )
    pairs: int | None = Field(
        None, ge=1, title="Pairs at most", description="Empty: all pairs of the plan."
    )
    decided_by: str = Field(
        "", max_length=200, title="Your name", description="Kept in the store with the decision."
    )


def approved(offer: Offer, operation: OperationSettings) -> Approval:
    """Return what may be judged of a plan, after a person was asked where the policy says so.

    For a run of a deployment this call does not return the first time: the run is suspended, and
    the call of the process that goes on with it returns the answer.

    Args:
        offer: The plan.
        operation: The policy.

    Raises:
        SettingsError: A command needs an answer and has no terminal to ask in.
    """
    if not deployment.id:
        return _asked_in_terminal(offer) if is_to_ask(offer, operation) else _UNASKED
    kept = read_flow_run_input(_OFFERED)
    if not kept and not is_to_ask(offer, operation):
        return _UNASKED
    if not kept:
        get_run_logger().info(
            "waits for approval: press Resume in the Prefect UI, or run `cosqa approve`"
        )
        create_flow_run_input(_OFFERED, offer.model_dump(mode="json"))
    asked = Offer.model_validate(kept) if kept else offer
    timeout_s = round(timedelta(days=operation.approval_days).total_seconds())
    answer = suspend_flow_run(wait_for_input=form_for(asked), timeout=timeout_s, key=_KEY)
    return _approval(asked, answer)


_UNASKED = Approval(decision="unasked")


def is_to_ask(offer: Offer, operation: OperationSettings) -> bool:
    """Return whether a person is to be asked: a cost that is not known is not below any other."""
    if not any(offer.reasons.values()) or operation.approval == "never":
        return False
    is_dear = offer.usd is None or offer.usd > operation.approval_above_usd
    return operation.approval == "always" or is_dear


def form_for(offer: Offer) -> type[Answer]:
    """Return the form for a plan: `Answer`, and a switch for each reason that has pairs."""
    switches: dict[str, Any] = {
        TAKE + name: (
            bool,
            Field(True, title=f"Take {name.replace('_', ' ')} ({pairs:,} pairs)"),
        )
        for name, pairs in offer.reasons.items()
        if pairs
    }
    form: type[Answer] = create_model("Approval", __base__=Answer, **switches)
    form._description = offer.markdown  # noqa: SLF001 - as RunInput.with_initial_data sets it
    return form


def _approval(offer: Offer, answer: Answer) -> Approval:
    given = answer.model_dump()
    return Approval(
        decision="approved" if answer.decision == "approve" else "declined",
        reasons=tuple(name for name in offer.reasons if given.get(TAKE + name)),
        pairs=answer.pairs,
        budget_usd=answer.budget_usd,
        decided_by=answer.decided_by or "Prefect's UI or API",
        plan_id=offer.plan_id,
    )


def _asked_in_terminal(offer: Offer) -> Approval:
    """Print a plan and ask for a yes or no.

    Raises:
        SettingsError: There is no terminal.
    """
    if not sys.stdin.isatty():
        raise SettingsError(
            "COSQA_OPERATION__APPROVAL asks for approval and this command has no terminal to ask "
            "in: run it in one, set COSQA_OPERATION__APPROVAL=never for it, or start the "
            "deployment, whose run waits in the Prefect UI"
        )
    typer.echo(offer.markdown)
    yes = typer.confirm("Judge these pairs?", default=False)
    return Approval(
        decision="approved" if yes else "declined", decided_by=this_user(), plan_id=offer.plan_id
    )
