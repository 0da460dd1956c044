"""Table of controls: what was changed by hand about annotation, while it runs or before.

A control holds until it is changed back. Every change stays in the table, with who made it.
"""

import getpass
import json
import socket
from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import Literal, get_args

from pydantic import Field

from infra.records import Record
from infra.settings.operation import MOST_IN_FLIGHT, MOST_REQUESTS_PER_MINUTE
from infra.store.database import Database

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
    changes = [
        Change.model_validate({**row, "value": json.loads(str(row["value"]))}) for row in rows
    ]
    return sorted(changes, key=lambda change: CONTROLS.index(change.control))


def this_user() -> str:
    """Return who runs this process, and where: ``user@host``."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        user = "unknown"
    return f"{user}@{socket.gethostname()}"
