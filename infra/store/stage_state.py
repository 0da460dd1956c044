"""The state of the stage at work on a store, in a file beside the database.

It is a picture for people who look on, written every few seconds and read without a lock. What is
true stands in the database, and whether a run that writes labels is alive in the lease.
"""

import contextlib
from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import Field, ValidationError

from infra.atomic import atomic_write
from infra.records import Record
from infra.settings import StoreSettings
from infra.store.lease import lease_holder
from infra.summaries import CanaryCounts

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


def _now() -> datetime:
    return datetime.now(UTC)


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
    updated_at: datetime = Field(default_factory=_now)
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
