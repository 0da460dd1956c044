"""Runs on a store: who writes, at which stage, by which plan, and what people changed meanwhile.

One flow at a time writes labels, by a lock of the kernel on a file beside the database, which goes
with the process that holds it, however that ends: there is nothing to clean up after a crash. Who
holds it stands in the file, for messages; so does the state of the stage at work in another. A
control holds until it is changed back. Every change stays in the table, with who made it.
"""

import contextlib
import getpass
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Literal, get_args
from uuid import uuid4

from pydantic import Field, ValidationError

from infra.atomic import atomic_write
from infra.disk import OTHER_STORE, space_on
from infra.errors import StoreBusyError
from infra.ids import RecipeId
from infra.locks import locked
from infra.records import Record
from infra.settings import StoreSettings
from infra.settings.operation import MOST_IN_FLIGHT, MOST_REQUESTS_PER_MINUTE
from infra.store.database import Database
from infra.summaries import CanaryCounts

Control = Literal["paused", "in_flight", "requests_per_minute", "budget_usd"]
CONTROLS: tuple[Control, ...] = get_args(Control)
LIMITS = CONTROLS[1:]
_MOST: Mapping[Control, int] = {
    "in_flight": MOST_IN_FLIGHT,
    "requests_per_minute": MOST_REQUESTS_PER_MINUTE,
}


class Controls(Record):
    """The controls in force; None leaves a limit to the settings.

    Attributes:
        paused: Whether no pairs are handed out to judges.
        in_flight: Pairs judged at once.
        requests_per_minute: Requests a minute to the model, over all workers.
        budget_usd: What may be spent in all on the model's key, as ``llm.budget_usd``.
    """

    paused: bool = False
    in_flight: int | None = Field(None, ge=1, le=MOST_IN_FLIGHT)
    requests_per_minute: int | None = Field(None, ge=1, le=MOST_REQUESTS_PER_MINUTE)
    budget_usd: float | None = Field(None, ge=0, allow_inf_nan=False)

    @property
    def limits(self) -> dict[Control, float | None]:
        """Limit → its value."""
        return {name: getattr(self, name) for name in LIMITS}

    def __str__(self) -> str:
        """Return the controls that are in force, as ``paused, in_flight 4``; "" for none."""
        named = [f"{name} {value:g}" for name, value in self.limits.items() if value is not None]
        return ", ".join(["paused"] * self.paused + named)


class Change(Record):
    """One change of a control; a value of None leaves it to the settings again."""

    control: Control
    value: float | bool | None
    set_by: str
    set_at: datetime

    @property
    def holds(self) -> bool:
        """Whether it changes anything now: a limit of 0 does."""
        return self.value is not None and self.value is not False


def set_control(
    database: Database, name: Control, value: float | bool | None, set_by: str = ""
) -> None:
    """Record a change.

    Args:
        database: The store.
        name: The control.
        value: Its value; None leaves it to the settings again.
        set_by: Who changes it; the user of this process when not given.

    Raises:
        ValueError: The value is out of bounds; nothing is recorded.
    """
    Controls.model_validate({} if value is None else {name: value})
    with database.transaction() as tx:
        tx.execute(
            "INSERT INTO controls (ordinal, control, value, set_by) "
            "SELECT coalesce(max(ordinal), 0) + 1, ?, ?, ? FROM controls",
            [name, json.dumps(value), set_by or this_user()],
        )


def current_controls(database: Database) -> Controls:
    """Return the controls in force.

    Of those that an earlier version took, an endless one leaves the settings, and one beyond what
    may be is the most that may.
    """
    changes = {item.control: item.value for item in last_changes(database)}
    known = {
        name: min(value, _MOST.get(name, value))
        for name, value in changes.items()
        if value is not None and isfinite(value)
    }
    return Controls.model_validate(known)


def last_changes(database: Database) -> list[Change]:
    """Return the last change of each control that was ever changed, in their order."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT control, value, set_by, set_at FROM controls "
            "QUALIFY ordinal = max(ordinal) OVER (PARTITION BY control)"
        )
    changes = [Change.model_validate({**row, "value": json.loads(row["value"])}) for row in rows]
    return sorted(changes, key=lambda change: CONTROLS.index(change.control))


def this_user() -> str:
    """Return who runs this process, and where: ``user@host``."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        user = "unknown"
    return f"{user}@{socket.gethostname()}"


Decision = Literal["waiting", "approved", "declined", "unasked"]


class StoredPlan(Record):
    """A stored plan; ``body`` is the whole of it, as it was recorded."""

    plan_id: str
    collection: str
    recipe_id: RecipeId
    body: dict[str, object]
    decision: Decision
    decided_by: str
    planned_at: datetime


def record_plan(
    database: Database,
    collection: str,
    recipe_id: RecipeId,
    body: Mapping[str, object],
) -> str:
    """Store a plan of which nobody is asked yet; return its id.

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
        "decision": "unasked",
    }
    with database.transaction() as tx:
        tx.insert("plans", [row])
    return plan_id


def decide_plan(database: Database, plan_id: str, decision: Decision, decided_by: str = "") -> None:
    """Store what was decided on a plan, and by whom if that is known."""
    with database.transaction() as tx:
        tx.execute(
            "UPDATE plans SET decision = ?, decided_by = ? WHERE plan_id = ?",
            [decision, decided_by, plan_id],
        )


def last_plans(database: Database, limit: int = 1, collection: str = "") -> list[StoredPlan]:
    """Return the newest plans, of one collection or of all, newest first."""
    with database.transaction() as tx:
        rows = tx.dicts(
            "SELECT * FROM plans WHERE ? IN ('', collection) "
            "ORDER BY planned_at DESC, rowid DESC LIMIT ?",
            [collection, limit],
        )
    return [StoredPlan.model_validate(row | {"body": json.loads(row["body"])}) for row in rows]


_FILE = "stage.json"


class JudgingState(Record):
    """What is particular to a run of judges.

    Attributes:
        collection: Whose pairs they judge.
        model: The language model.
        waiting: Pairs in the queue; more are read from the store as it empties.
        held: Pairs that judges are at work on.
        in_flight: The most that they may have; 0 while batches answer what they have asked.
        statuses: Status of an annotation → number of pairs of this run.
        labels: Label → number of pairs of this run.
        canaries: How pairs with known labels were judged.
        spent_usd: Spent or reserved on the model's key, by all runs.
        spent_tokens: The same in tokens.
        spent_before_usd: What that was when this run began, less what its other judges have cost.
        budget_usd: The budget of the key; None is no limit.
        budget_tokens: The same in tokens.
        controls: What was changed by hand, in words.
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
    controls: str = ""


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
