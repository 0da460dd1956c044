"""Runs on a store: who writes, at which stage, by which plan.

One flow at a time writes labels, by a lock of the kernel on a file beside the database, which goes
with the process that holds it, however that ends: there is nothing to clean up after a crash. Who
holds it stands in the file, for messages; so does the state of the stage at work in another.
"""

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from pydantic import Field, ValidationError

from infra.atomic import atomic_write
from infra.disk import OTHER_STORE, space_on
from infra.errors import StoreBusyError
from infra.ids import RecipeId
from infra.locks import locked
from infra.records import Record
from infra.settings import StoreSettings
from infra.store.database import Database
from infra.summaries import CanaryCounts


class StoredPlan(Record):
    """A stored plan; ``body`` is the whole of it, as it was recorded."""

    plan_id: str
    collection: str
    recipe_id: RecipeId
    body: dict[str, object]
    planned_at: datetime


def record_plan(
    database: Database,
    collection: str,
    recipe_id: RecipeId,
    body: Mapping[str, object],
) -> str:
    """Store a plan; return its id.

    Args:
        database: The store.
        collection: Whose pairs are planned.
        recipe_id: The recipe that is to judge them.
        body: The plan, fit for JSON.
    """
    plan_id = uuid4().hex[:12]
    row = {
        "plan_id": plan_id,
        "collection": collection,
        "recipe_id": recipe_id,
        "body": json.dumps({**body, "plan_id": plan_id}, sort_keys=True),
    }
    with database.transaction() as tx:
        tx.insert("plans", [row])
    return plan_id


def load_plan(database: Database, plan_id: str) -> dict[str, object]:
    """Return a plan as it was recorded."""
    with database.transaction() as tx:
        (row,) = tx.dicts("SELECT body FROM plans WHERE plan_id = ?", [plan_id])
    body: dict[str, object] = json.loads(row["body"])
    return body


def last_plan(database: Database) -> StoredPlan | None:
    """Return the newest plan, None where there is none."""
    with database.transaction() as tx:
        rows = tx.dicts("SELECT * FROM plans ORDER BY planned_at DESC, rowid DESC LIMIT 1")
    for row in rows:
        return StoredPlan.model_validate(row | {"body": json.loads(row["body"])})
    return None


_FILE = "stage.json"


class JudgingState(Record):
    """What is particular to a run of judges.

    Attributes:
        collection: Whose pairs they judge.
        model: The language model.
        waiting: Pairs in the queue; more are read from the store as it empties.
        held: Pairs that judges are at work on.
        in_flight: The most that they may have.
        statuses: Status of an annotation → number of pairs of this run.
        labels: Label → number of pairs of this run.
        canaries: How pairs with known labels were judged.
        spent_usd: Spent or reserved on the model's key, by all runs.
        spent_tokens: The same in tokens.
        spent_before_usd: What that was when this run began.
        budget_usd: The budget of the key; None is no limit.
        budget_tokens: The same in tokens.
    """

    collection: str
    model: str
    waiting: int = 0
    held: int = 0
    in_flight: int = 0
    statuses: Mapping[str, int] = Field(default_factory=dict)
    labels: Mapping[int, int] = Field(default_factory=dict)
    canaries: CanaryCounts = CanaryCounts()
    spent_usd: float = 0.0
    spent_tokens: int = 0
    spent_before_usd: float = 0.0
    budget_usd: float | None = None
    budget_tokens: int | None = None


class StageState(Record):
    """How far a stage is.

    Attributes:
        stage: Its name.
        what: What it counts, in the plural.
        done: Finished items.
        total: All of them; None where only the end will tell.
        run: Name of the Prefect run that it belongs to.
        started_at: When it began.
        updated_at: When this was written.
        is_ended: Whether it has ended, well or not.
        error: Why it ended early; empty if it did not.
        per_minute: Items a minute of late.
        minutes_left: Minutes until the end at that pace; None where nothing tells.
        judging: More, if pairs are judged.
    """

    stage: str
    what: str
    done: int
    total: int | None
    run: str = ""
    started_at: datetime
    updated_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    is_ended: bool = False
    error: str = ""
    per_minute: float = 0.0
    minutes_left: float | None = None
    judging: JudgingState | None = None


def write_state(settings: StoreSettings, state: StageState) -> None:
    """Write a state in place of the last one; a folder that takes none ends no run.

    While another process holds the lease, the state is that one's: this one writes none.
    """
    with contextlib.suppress(OSError):
        holder = lease_holder(settings)
        if holder is None or holder.is_this_process:
            with atomic_write(settings.folder / _FILE) as partial:
                partial.write_text(state.model_dump_json(), encoding="utf-8")


def read_state(settings: StoreSettings) -> StageState | None:
    """Return the last state; None if there is none that can be read."""
    try:
        return StageState.model_validate_json((settings.folder / _FILE).read_bytes())
    except (OSError, ValidationError):
        return None


_LEASE_FILE = "writer.lock"
# `lease_holder` has the lock for an instant, which must not be taken for a writer.
_GLANCE_S = 0.25
_PAUSE_S, _LONG_PAUSE_S = 0.05, 1.0


@dataclass(frozen=True)
class Holder:
    """Who holds a store's lease.

    Attributes:
        name: The run, as people know it.
        host: Name of its machine.
        pid: Its process on that machine.
        since: When it took the lease, in ISO 8601.
    """

    name: str
    host: str
    pid: int
    since: str

    @property
    def is_this_process(self) -> bool:
        """Whether it is the process that asks."""
        return (self.host, self.pid) == (socket.gethostname(), os.getpid())

    def __str__(self) -> str:
        if not self.pid:
            return self.name
        return f"{self.name} (process {self.pid} on {self.host}, since {self.since})"


@contextmanager
def writer_lease(settings: StoreSettings, holder: str, patience_s: float = 0.0) -> Iterator[None]:
    """Hold the store's lease inside the ``with``.

    Args:
        settings: The store.
        holder: Name of the run, for the message to others.
        patience_s: Seconds to wait while another run holds it.

    Raises:
        StoreBusyError: Another run holds it; the message names the run.
        DiskFullError: The disk has no room for the name.
    """
    with ExitStack() as lock:
        handle = _take(settings.folder / _LEASE_FILE, lock, max(patience_s, _GLANCE_S))
        since = datetime.now(UTC).isoformat(timespec="seconds")
        told = Holder(holder, socket.gethostname(), os.getpid(), since)
        with space_on(settings.folder, OTHER_STORE):
            os.ftruncate(handle, 0)
            os.pwrite(handle, json.dumps(asdict(told)).encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)


def lease_holder(settings: StoreSettings) -> Holder | None:
    """Return who holds the store's lease, None if nobody does."""
    file = settings.folder / _LEASE_FILE
    if not file.is_file():
        return None
    try:
        with locked(file, wait=False, shared=True):
            return None
    except BlockingIOError:
        return _named_in(file)


def _take(file: Path, lock: ExitStack, patience_s: float) -> int:
    deadline = time.monotonic() + patience_s
    pause_s = _PAUSE_S
    while time.monotonic() < deadline:
        try:
            return lock.enter_context(locked(file, wait=False))
        except BlockingIOError:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONG_PAUSE_S)
    raise StoreBusyError(
        f"the store {file.parent} is being written by {_named_in(file)}: wait for that run or end "
        "it, then try again, or use another store with --store"
    )


def _named_in(file: Path) -> Holder:
    """Return the holder that a lease's file names; one without a process while it is written.

    The file of a process that was killed names it until the next one takes the lease.
    """
    try:
        return Holder(**json.loads(file.read_bytes()))
    except (ValueError, TypeError):
        return Holder("a run that has just begun", host="", pid=0, since="")
