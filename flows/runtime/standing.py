"""How a store stands: what runs on it, what was planned and audited, what waits and what comes."""

from pathlib import Path

import httpx
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, PREFECT_UI_URL

from flows.runtime.paused_deployments import paused_deployments
from flows.runtime.waiting_runs import DueRun, due_runs, waiting_runs
from infra.errors import StoreLockedError
from infra.records import Record
from infra.settings import Settings
from infra.store import Database, open_database
from infra.store.audits import StoredAudit, load_audits
from infra.store.runs import (
    StageState,
    StoredPlan,
    last_changes,
    last_plans,
    lease_holder,
    read_state,
)
from tasks.reports.plan import RunPlan, plan_sentence

_DUE, _AUDITS = 3, 3
_PATIENCE_S = 1.0


class Standing(Record):
    """How a store stands.

    Attributes:
        folder: The store's.
        holder: Who writes into it; empty for nobody.
        stage: The stage at work, or the last one.
        controls: What was changed by hand and by whom.
        plans: The last plan, in words.
        audits: The last audits, in words.
        waiting: Names of runs on the Prefect server that wait for approval.
        paused: Names of its deployments that are paused.
        due: Runs that it has scheduled.
        server: Its address, or why it does not tell; empty without one.
    """

    folder: Path
    holder: str = ""
    stage: StageState | None = None
    controls: str = ""
    plans: tuple[str, ...] = ()
    audits: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    paused: tuple[str, ...] = ()
    due: tuple[DueRun, ...] = ()
    server: str = ""


def standing_of(settings: Settings, known: Standing | None = None) -> Standing:
    """Return how a store stands.

    Args:
        settings: The store.
        known: What was found a moment ago: only files are read again, neither the database nor the
            Prefect server is asked.
    """
    store = settings.store
    known = known or Standing(folder=store.folder, **_of_database(settings), **_of_server())
    holder = lease_holder(store)
    return known.model_copy(
        update={"holder": str(holder) if holder else "", "stage": read_state(store)}
    )


def _of_database(settings: Settings) -> dict[str, object]:
    """Return what the database tells; one that is held by another process is not waited for."""
    store = settings.store.model_copy(update={"lock_timeout_s": _PATIENCE_S})
    try:
        database = open_database(store)
        return {
            "controls": _controls(database),
            "plans": tuple(map(_plan, last_plans(database))),
            "audits": tuple(map(_audit, load_audits(database)[-_AUDITS:])),
        }
    except StoreLockedError:
        return {"controls": "unknown: another process has the database open"}


def _controls(database: Database) -> str:
    return "; ".join(
        f"{'paused' if change.control == 'paused' else f'{change.control} {change.value:g}'} "
        f"(by {change.set_by}, {change.set_at.astimezone():%Y-%m-%d %H:%M})"
        for change in last_changes(database)
        if change.holds
    )


def _plan(stored: StoredPlan) -> str:
    by = f" by {stored.decided_by}" if stored.decided_by else ""
    asked = "" if stored.decision == "unasked" else f" ({stored.decision}{by})"
    sentence = plan_sentence(RunPlan.model_validate(stored.body))
    return f"{stored.planned_at.astimezone():%Y-%m-%d %H:%M} {sentence}{asked}"


def _audit(audit: StoredAudit) -> str:
    at = f"{audit.audited_at.astimezone():%Y-%m-%d} " if audit.audited_at else ""
    if audit.alpha is None:
        return f"{at}{audit.collection}: alpha undefined over {audit.pairs:,} pairs"
    ends = "" if audit.low is None else f" ({audit.low:.3f} to {audit.high:.3f})"
    return f"{at}{audit.collection}: alpha {audit.alpha:.3f}{ends} over {audit.pairs:,} pairs"


def _of_server() -> dict[str, object]:
    url = PREFECT_API_URL.value()
    if not url:
        return {}
    try:
        with get_client(sync_client=True) as client:
            waiting = tuple(str(run.name) for run in waiting_runs(client))
            return {
                "waiting": waiting,
                "paused": tuple(paused_deployments(client)),
                "due": tuple(due_runs(client, _DUE)),
                "server": str(PREFECT_UI_URL.value() or url),
            }
    except httpx.HTTPError as error:
        return {"server": f"{url} does not answer: {error}"}
