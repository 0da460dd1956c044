"""``cosqa status``: what a store has, and who writes to it."""

from flows.cli.output import say
from infra.errors import StoreLockedError
from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.database import require_store
from infra.store.figures import stored_counts
from infra.store.runs import lease_holder

_PATIENCE_S = 1.0


def show_status(store: StoreSettings) -> None:
    """Print how a store stands, without waiting for what another process holds.

    How far a run is, its log and the Prefect UI tell.

    Raises:
        StoreError: There is no store.
    """
    require_store(store)
    try:
        database = open_database(store.model_copy(update={"lock_timeout_s": _PATIENCE_S}))
        counts = stored_counts(database)
        stored = ", ".join(f"{number:,} {name}" for name, number in counts.items())
    except StoreLockedError:
        stored = "unknown: another process has the database open"
    say(f"store   {store.folder}")
    say(f"stored  {stored}")
    say(f"writes  {lease_holder(store) or 'nothing'}")
