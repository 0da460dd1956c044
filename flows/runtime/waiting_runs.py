"""Runs of deployments on the Prefect server: those that wait for approval, those that are due."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterTags,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateName,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.input.actions import (
    create_flow_run_input,
    delete_flow_run_input,
    read_flow_run_input,
)

from flows.deployments import TAG
from flows.runtime.prefect_server import running_server
from flows.runtime.run_inputs import DECIDED_BY, FORM_KEY
from infra.errors import SettingsError
from infra.records import Record
from infra.store.runs import this_user

_MOST = 50
OURS = DeploymentFilter(tags=DeploymentFilterTags(all_=[TAG]))


class DueRun(Record):
    """A run that has not begun.

    Attributes:
        name: Its deployment's name.
        starts_at: When it is to begin, or was to.
    """

    name: str
    starts_at: datetime


def answer_run(
    name: str, answer: Mapping[str, object], reasons: Sequence[str] | None = None
) -> str:
    """Resume a run that waits for approval with an answer; return the run's name.

    Args:
        name: The run's name or id, or how one of them begins; empty where one run waits.
        answer: Field of the form → value.
        reasons: The reasons to take; None takes all of the plan, and an empty list declines it.

    Raises:
        SettingsError: No server answers, no run or several runs are meant, the plan has no such
            reason, or the server refuses the answer.
    """
    with running_server(), get_client(sync_client=True) as client:
        run = _meant(waiting_runs(client), name)
        offered: list[str] = _form(run.id)["properties"]["reasons"]["default"]
        if unknown := [reason for reason in reasons or () if reason not in offered]:
            raise SettingsError(
                f"the plan of {run.name} has no pairs for {', '.join(unknown)}; it has: "
                f"{', '.join(offered)}"
            )
        chosen = {} if reasons is None else {"reasons": list(reasons)}
        if read_flow_run_input(DECIDED_BY, run.id):  # of an answer that did not arrive
            delete_flow_run_input(DECIDED_BY, run.id)
        create_flow_run_input(DECIDED_BY, this_user(), run.id)
        given: dict[str, Any] = {**answer, **chosen}
        result = client.resume_flow_run(run.id, run_input=given)
        if result.status.value != "ACCEPT":
            delete_flow_run_input(DECIDED_BY, run.id)  # somebody else may answer next
            reason = getattr(result.details, "reason", None)
            raise SettingsError(f"the Prefect server does not resume {run.name}: {reason}")
    return str(run.name)


def waiting_runs(client: SyncPrefectClient) -> list[FlowRun]:
    """Return the runs that wait for approval, the newest first."""
    suspended = FlowRunFilterState(
        type=FlowRunFilterStateType(any_=[StateType.PAUSED]),
        name=FlowRunFilterStateName(any_=["Suspended"]),
    )
    runs = client.read_flow_runs(
        flow_run_filter=FlowRunFilter(state=suspended),
        deployment_filter=OURS,
        sort=FlowRunSort.EXPECTED_START_TIME_DESC,
        limit=_MOST,
    )
    return [run for run in runs if _form(run.id)]


def due_runs(client: SyncPrefectClient, at_most: int) -> list[DueRun]:
    """Return all runs that should have begun and have not, and so many of those that come next."""
    names = {each.id: each.name for each in client.read_deployments(deployment_filter=OURS)}
    not_begun = [StateType.SCHEDULED, StateType.PENDING]
    runs = client.read_flow_runs(
        flow_run_filter=FlowRunFilter(
            state=FlowRunFilterState(type=FlowRunFilterStateType(any_=not_begun))
        ),
        deployment_filter=OURS,
        sort=FlowRunSort.EXPECTED_START_TIME_ASC,
    )
    due = [
        DueRun(name=names[run.deployment_id], starts_at=run.expected_start_time)
        for run in runs
        if run.expected_start_time and run.deployment_id in names
    ]
    overdue = sum(run.starts_at <= datetime.now(UTC) for run in due)
    return due[: overdue + at_most]


def _meant(runs: Sequence[FlowRun], name: str) -> FlowRun:
    meant = [run for run in runs if run.name.startswith(name) or str(run.id).startswith(name)]
    if len(meant) == 1:
        return meant[0]
    if not runs:
        raise SettingsError("no run waits for approval on this Prefect server")
    which = "these runs wait" if meant else f"no waiting run begins with {name!r}; these wait"
    listed = "\n".join(f"  {str(run.id)[:8]}  {run.name}" for run in runs)
    raise SettingsError(f"{which}, name one of them:\n{listed}")


def _form(run_id: UUID) -> dict[str, Any]:
    """Return the schema of a run's form; empty if it waits for something else."""
    schema = read_flow_run_input(FORM_KEY, run_id)
    return schema if isinstance(schema, dict) else {}
