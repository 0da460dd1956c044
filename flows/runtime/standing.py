"""How a store stands: what runs on it, what was planned."""

from pathlib import Path

from prefect.settings import PREFECT_API_URL, PREFECT_UI_URL

from infra.errors import StoreLockedError
from infra.records import Record
from infra.settings import Settings
from infra.store import open_database
from infra.store.runs import (
    StageState,
    StoredPlan,
    last_plans,
    lease_holder,
    read_state,
)
from tasks.reports.plan import RunPlan, plan_sentence

_PATIENCE_S = 1.0


class Standing(Record):
    """How a store stands.

    Attributes:
        folder: The store's.
        holder: Who writes into it; empty for nobody.
        stage: The stage at work, or the last one.
        plans: The last plan, in words.
        server: Address of the Prefect server's UI; empty without one.
    """

    folder: Path
    holder: str = ""
    stage: StageState | None = None
    plans: tuple[str, ...] = ()
    server: str = ""


def standing_of(settings: Settings, known: Standing | None = None) -> Standing:
    """Return how a store stands.

    Args:
        settings: The store.
        known: What was found a moment ago: only files are read again, not the database.
    """
    store = settings.store
    server = str(PREFECT_UI_URL.value() or PREFECT_API_URL.value() or "")
    known = known or Standing(folder=store.folder, server=server, **_of_database(settings))
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
            "plans": tuple(map(_plan, last_plans(database))),
        }
    except StoreLockedError:
        return {"plans": ("unknown: another process has the database open",)}


def _plan(stored: StoredPlan) -> str:
    sentence = plan_sentence(RunPlan.model_validate(stored.body))
    return f"{stored.planned_at.astimezone():%Y-%m-%d %H:%M} {sentence}"
