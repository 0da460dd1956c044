"""Approval of an annotation's plan by a person, before anything is paid for.

A run of a deployment is suspended: its process ends, it holds nothing, and the plan stands with a
form in the Prefect UI. Resume makes a worker start it anew; the plan is made again, and what was
approved bounds it. So it does not matter how long people take, nor whether server, worker or
machine are restarted meanwhile. A command asks in its terminal instead.
"""

import sys
from contextlib import nullcontext
from datetime import timedelta
from typing import Annotated, Any, Literal, Self

import typer
from prefect.client.orchestration import get_client
from prefect.events import emit_event
from prefect.exceptions import Pause
from prefect.flow_runs import suspend_flow_run
from prefect.input import RunInput
from prefect.input.actions import create_flow_run_input, read_flow_run_input
from prefect.logging import get_run_logger
from prefect.runtime import deployment, flow_run
from pydantic import Field, create_model
from pydantic.json_schema import SkipJsonSchema

from flows.runtime.run_inputs import (
    DECIDED_BY,
    OFFERED,
    PAUSE_KEY,
    forget_question,
    show_alive,
    was_answered,
)
from flows.runtime.waiting_runs import waiting_runs
from flows.runtime.writing import writing
from infra.errors import SettingsError, StoreBusyError
from infra.records import Record
from infra.settings import OperationSettings, Reason, Settings
from infra.store import Database
from infra.store.runs import decide_plan, last_plans, this_user
from tasks.reports.plan import RunPlan, plan_document, question_document
from tasks.reports.render import markdown_page

_EARLIER = 20  # plans of a collection among which those are looked for that nobody answered


class Offer(Record):
    """What is put before a person.

    Attributes:
        plan_id: A plan in the store.
        reasons: Reason → pairs that it would judge.
        by_round: Reason → those of each labelling round; without an audit, which is of none.
    """

    plan_id: str
    reasons: dict[Reason, int]
    by_round: dict[Reason, tuple[int, ...]]

    @classmethod
    def of(cls, plan: RunPlan) -> Self:
        """Return what a plan offers."""
        taken = [item for item in plan.reasons if item.taken]
        return cls(
            plan_id=plan.plan_id,
            reasons={item.reason: item.taken for item in taken},
            by_round={item.reason: item.by_round for item in taken if item.by_round},
        )


class Approval(Record):
    """What may be judged; None leaves it as planned.

    Attributes:
        decision: Whether anybody was asked, and the answer.
        reasons: Reasons whose pairs may be judged; none where the plan is declined.
        pairs: The most pairs.
        budget_usd: The most US dollars.
        offer: What was offered, which is the most of the run.
        decided_by: Who answered, as far as is known.
    """

    decision: Literal["unasked", "approved", "declined"]
    reasons: tuple[str, ...] | None = None
    pairs: int | None = None
    budget_usd: float | None = None
    offer: Offer | None = None
    decided_by: str = ""

    def bound(self, settings: Settings) -> Settings:
        """Return settings that take no more than what was approved; `in_round` bounds the rest."""
        policy = settings.reannotation
        least = {"pairs": self.pairs, "budget_usd": self.budget_usd}
        update: dict[str, object] = {
            name: value if getattr(policy, name) is None else min(value, getattr(policy, name))
            for name, value in least.items()
            if value is not None
        }
        if self.reasons is not None:
            update["take"] = tuple(name for name in policy.take if name in self.reasons)
        if self.offer and "audit" in self.offer.reasons:
            most, own = self.offer.reasons["audit"], policy.limits
            update["limits"] = own | {"audit": min(most, own.get("audit", most))}
        return settings.model_copy(update={"reannotation": policy.model_copy(update=update)})

    def in_round(self, place: int) -> dict[Reason, int] | None:
        """Return reason → the most pairs of a labelling round; None where nobody was asked."""
        if not self.offer:
            return None
        offered = self.offer.by_round
        return {reason: sum(pairs[place - 1 : place]) for reason, pairs in offered.items()}


def _without_default(schema: dict[str, Any]) -> None:
    """Drop a default of null, which Prefect's form would send and its server refuse."""
    schema.pop("default", None)


class Answer(RunInput):
    """The form; `form_for` puts the reasons of a plan before these fields."""

    reasons: list[str]
    budget_usd: Annotated[float, Field(gt=0)] | SkipJsonSchema[None] = Field(
        None,
        title="Budget in US dollars",
        description="For this run; empty: as set up.",
        json_schema_extra=_without_default,
    )
    pairs: Annotated[int, Field(ge=1)] | SkipJsonSchema[None] = Field(
        None,
        title="Pairs at most",
        description="Empty: all.",
        json_schema_extra=_without_default,
    )


def approved(plan: RunPlan, database: Database, operation: OperationSettings) -> Approval:
    """Return what may be judged of a plan, after a person was asked where the policy says so.

    For a run of a deployment this call does not return the first time: the run is suspended, and
    the call of the process that goes on with it returns the answer.

    Args:
        plan: The plan.
        database: The store, where the decision is recorded.
        operation: The policy.

    Raises:
        SettingsError: A command needs an answer and has no terminal to ask in.
        StoreBusyError: Another run waits for approval of the same plan.
    """
    kept = read_flow_run_input(OFFERED) if was_answered() else None
    if not kept and not is_to_ask(plan, operation):
        return Approval(decision="unasked")
    offer = Offer.model_validate(kept) if kept else Offer.of(plan)
    # Of two runs that come to ask at once, the second one is to see that the first one waits.
    is_first = deployment.id and not was_answered()
    with writing(database.settings) if is_first else nullcontext():
        answer = (
            _suspended(plan, offer, database, operation) if deployment.id else _asked(plan, offer)
        )
    # What has come up since it was offered is not approved.
    answer = answer.model_copy(update={"offer": offer})
    for plan_id in {offer.plan_id, plan.plan_id} - {""}:
        decide_plan(database, plan_id, answer.decision, answer.decided_by)
    get_run_logger().info("%s by %s", answer.decision, answer.decided_by)
    return answer


def is_to_ask(plan: RunPlan, operation: OperationSettings) -> bool:
    """Return whether a person is to be asked: a cost that is not known is not below any other."""
    if not plan.taken or operation.approval == "never":
        return False
    is_dear = plan.usd is None or plan.usd > operation.approval_above_usd
    return operation.approval == "always" or is_dear


def form_for(offer: Offer, markdown: str) -> type[Answer]:
    """Return the form with the plan above it as Markdown; untouched it approves all of the plan."""
    names = tuple(offer.reasons)
    reasons = Field(
        list(names),
        title="Reasons to take",
        description="Take none to decline the plan.",
        # A single choice would be a constant, which Prefect shows as free text.
        json_schema_extra={"items": {"type": "string", "enum": list(names)}},
    )
    chosen: Any = (list[Literal[names]], reasons)  # type: ignore[valid-type]
    form = create_model("Approval", __base__=Answer, reasons=chosen)
    form._description = markdown  # noqa: SLF001 - as RunInput.with_initial_data sets it
    return form


def _suspended(
    plan: RunPlan, offer: Offer, database: Database, operation: OperationSettings
) -> Approval:
    """Suspend the run at the first call; return the answer once it is resumed."""
    if not was_answered():
        forget_question()
        with get_client(sync_client=True) as client:
            waiting = {
                Offer.model_validate(kept).plan_id: each.name
                for each in waiting_runs(client)
                if (kept := read_flow_run_input(OFFERED, each.id))
            }
        for stored in last_plans(database, _EARLIER, plan.collection):
            earlier = Offer.of(RunPlan.model_validate(stored.body))
            is_same = earlier.reasons == offer.reasons and stored.recipe_id == plan.recipe_id
            if is_same and (name := waiting.get(stored.plan_id)):
                raise StoreBusyError(f"the run {name!r} waits for approval of the same plan")
            if stored.decision == "waiting" and offer.reasons.keys() & earlier.reasons.keys():
                decide_plan(database, stored.plan_id, "declined", "nobody: a later plan came")
        decide_plan(database, plan.plan_id, "waiting")
        create_flow_run_input(OFFERED, offer.model_dump(mode="json"))
        get_run_logger().info(
            "waits for approval: press Resume in the Prefect UI, or run `cosqa approve`"
        )
    timeout_s = round(timedelta(days=operation.approval_days).total_seconds())
    form = form_for(offer, markdown_page(question_document(plan)))
    show_alive()
    try:
        given = suspend_flow_run(wait_for_input=form, timeout=timeout_s, key=PAUSE_KEY)
    except Pause:
        # Else a sign of life that came after the state would be taken for the first of a silence.
        run = f"prefect.flow-run.{flow_run.id}"
        emit_event("prefect.flow-run.Suspended", resource={"prefect.resource.id": run})
        raise
    return _approval(given)


def _approval(answer: Answer) -> Approval:
    """Return what a form says; one without reasons declines."""
    return Approval(
        decision="approved" if answer.reasons else "declined",
        reasons=tuple(answer.reasons),
        pairs=answer.pairs,
        budget_usd=answer.budget_usd,
        decided_by=str(read_flow_run_input(DECIDED_BY) or "Prefect's UI or API"),
    )


def _asked(plan: RunPlan, offer: Offer) -> Approval:
    """Print a plan in the terminal and ask for a yes or no.

    Raises:
        SettingsError: There is no terminal.
    """
    if not sys.stdin.isatty():
        raise SettingsError(
            "COSQA_OPERATION__APPROVAL asks for approval and this command has no terminal to ask "
            "in: run it in one, set COSQA_OPERATION__APPROVAL=never for it, or start the "
            "deployment, whose run waits in the Prefect UI"
        )
    typer.echo(markdown_page(plan_document(plan)))
    is_agreed = typer.confirm("Judge these pairs?", default=False)
    return Approval(
        decision="approved" if is_agreed else "declined",
        reasons=tuple(offer.reasons) if is_agreed else (),
        decided_by=this_user(),
    )
