"""The controls of a run that goes on: what people change by hand, passed on to its judges."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from infra.errors import StoreLockedError
from infra.settings import AnnotationSettings
from infra.store import Database
from infra.store.runs import Change, Controls, current_controls, last_changes
from tasks.runtime.pair_queue import Limits
from tasks.runtime.run_logger import run_logger

_LOOK_S = 2.0
_PATIENCE_S = 0.5  # a store that another process has open is looked at the next time


def limits_of(controls: Controls) -> Limits:
    """Return the limits of the model that hold in place of the settings'."""
    return Limits(controls.requests_per_minute, controls.budget_usd)


class Steered(Protocol):
    """A queue of pairs that can be changed while judges work on it."""

    def steer(self, in_flight: int, limits: Limits, *, paused: bool) -> None:
        """Change what holds from now on."""
        ...


class Steering:
    """Reads the controls from the store every few seconds and passes changes on to a queue.

    Args:
        database: The store.
        queue: The queue of pairs.
        annotation: How many pairs are in flight where no control says otherwise.
        clock: Gives the time in seconds.
    """

    def __init__(
        self,
        database: Database,
        queue: Steered,
        annotation: AnnotationSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        patience = {"lock_timeout_s": _PATIENCE_S}
        self._database = database
        self._glanced = Database(database.settings.model_copy(update=patience), database.store_id)
        self._queue = queue
        self._in_flight = annotation.in_flight
        self._clock = clock
        self._look_at = clock()
        self.controls = Controls()

    @property
    def in_flight(self) -> int:
        """The most pairs in the hands of judges."""
        return self.controls.in_flight or self._in_flight

    def begin(self) -> None:
        """Pass on what was set before, which holds for the first pair that is handed out.

        It waits for the store as long as the run does.

        Raises:
            StoreLockedError: Another process holds the store.
        """
        self._look(self._database)

    def turn(self) -> None:
        """Look for changes where it is time to."""
        if self._clock() >= self._look_at:
            with suppress(StoreLockedError):
                self._look(self._glanced)

    def _look(self, database: Database) -> None:
        self._look_at = self._clock() + _LOOK_S
        controls = current_controls(database)
        if controls != self.controls:
            self._pass_on(controls, last_changes(database))

    def _pass_on(self, controls: Controls, changes: list[Change]) -> None:
        before, self.controls = self.controls, controls
        self._queue.steer(self.in_flight, limits_of(controls), paused=controls.paused)
        who = {item.control: f"{item.set_by}, {item.set_at:%Y-%m-%d %H:%M}" for item in changes}
        log = run_logger(__name__)
        if controls.paused and not before.paused:
            log.warning(
                "paused (by %s): pairs in flight are finished and no more are handed out until "
                "`cosqa resume`", who["paused"],
            )  # fmt: skip
        if before.paused and not controls.paused:
            log.info("resumed (by %s)", who["paused"])
        for name, value in controls.limits.items():
            if value != before.limits[name]:
                now = "as in the settings again" if value is None else f"{value:g}"
                log.info("%s: %s (by %s)", name, now, who[name])
