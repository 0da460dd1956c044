"""Progress of long tasks: log lines, and an artifact in the Prefect UI."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.logging import get_run_logger

from tasks.reports.text import duration, pace

_SECONDS_BETWEEN_REPORTS = 10.0
_SECONDS_BETWEEN_MARKS = 1.0
_PACE_S, _PACE_ITEMS = 60.0, 10.0  # the least that a pace is measured over
_UNKNOWN_S = 20.0  # after the first item, in which nothing tells how long the rest takes
_SECONDS_AFTER_A_FAILURE = 300.0  # each try takes the client up to a minute

_is_interrupted = Event()  # an interrupt reaches the main thread alone


def begin_stages() -> None:
    """Let stages of another run go on, where one before was interrupted."""
    _is_interrupted.clear()


def stop_stages() -> None:
    """Let stages in threads of their own end with the next item that they finish."""
    _is_interrupted.set()


def raise_if_stopped() -> None:
    """Raise KeyboardInterrupt where the run was interrupted: a stage's thread hears it here."""
    if _is_interrupted.is_set():
        raise KeyboardInterrupt


class Bar:
    """A progress bar in the Prefect UI, worth no run: a server that takes none is left in peace.

    Args:
        key: The artifact's key: lower-case letters, digits and dashes.
        description: What it shows.
    """

    def __init__(self, key: str, description: str) -> None:
        self._key = key
        self._artifact: UUID | None = None
        self._silent_until = 0.0
        self.show(0.0, 1.0, description)

    def show(self, part: float, whole: float, description: str, *, at_end: bool = False) -> None:
        """Show a part of a whole, unless the server took none a while ago and more will come."""
        if time.monotonic() < self._silent_until and not at_end:
            return
        per_cent = min(100.0, 100.0 * part / max(whole, 1e-9))
        try:
            if self._artifact:
                update_progress_artifact(self._artifact, progress=per_cent, description=description)
            else:
                made = create_progress_artifact(
                    progress=per_cent, key=self._key, description=description
                )
                self._artifact = cast("UUID", made)  # a coroutine only under an event loop
        except Exception as error:  # noqa: BLE001 - what the bar shows is not worth a run
            self._silent_until = time.monotonic() + _SECONDS_AFTER_A_FAILURE
            get_run_logger().warning("Prefect's server does not take the progress: %s", error)


@dataclass
class Progress:
    """Counter of finished items, which reports every few seconds.

    Attributes:
        what: What is counted, in the plural ("pairs annotated").
        total: Number of items; None where only the end will tell.
        bar: The bar in the Prefect UI, where the total is known.
        done: Number of finished items.
        note: What is to be said with the progress; empty for nothing.
    """

    what: str
    total: int | None
    bar: Bar | None
    done: int = 0
    note: str = ""
    _started: float = field(default_factory=time.monotonic)
    _reported: float = field(default_factory=time.monotonic)
    _worth: float = 0.0
    _marks: deque[tuple[float, float]] = field(default_factory=deque)  # when, and what was done

    def advance(self, items: int, worth: float | None = None) -> None:
        """Count finished items; report if the last report is some seconds old.

        Args:
            items: How many.
            worth: How many items of mean effort they amount to; None if as many.

        Raises:
            KeyboardInterrupt: The run was interrupted while this stage was in a thread of its own.
        """
        raise_if_stopped()
        self.done += items
        self._worth += items if worth is None else worth
        now = time.monotonic()
        if items and (not self._marks or now - self._marks[-1][0] >= _SECONDS_BETWEEN_MARKS):
            self._marks.append((now, self._worth))
        if now - self._reported >= _SECONDS_BETWEEN_REPORTS:
            self.report()

    def report(self, *, at_end: bool = False) -> None:
        """Log the progress and update the bar, with the estimated time left."""
        self._reported = time.monotonic()
        per_minute, minutes_left = self._pace()
        noted = f"{self.what} ({self.note})" if self.note else self.what
        counted = f"{self.done:,}" if self.total is None else f"{self.done:,} of {self.total:,}"
        left = f", about {duration(60 * minutes_left)} left" if minutes_left and not at_end else ""
        get_run_logger().info("%s %s, %s%s", counted, noted, pace(per_minute), left)
        if self.bar and self.total is not None:
            self.bar.show(self.done, self.total, noted, at_end=at_end)

    def _pace(self) -> tuple[float, float | None]:
        """Return items a minute, and the minutes left at that pace; None where nothing tells.

        It is that of the last minute. What came before the first item counts only while there is no
        second: workers start, and what is known already comes in a burst. How long is left can be
        known some time after it.
        """
        marks = self._marks
        while len(marks) > 2 and (
            marks[1][0] <= marks[-1][0] - _PACE_S and marks[-1][1] - marks[1][1] >= _PACE_ITEMS
        ):
            marks.popleft()
        since, before = marks[0] if len(marks) > 1 else (self._started, 0.0)
        per_minute = 60 * (self._worth - before) / max(time.monotonic() - since, 1e-9)
        is_early = len(marks) < 2 or marks[-1][0] - since < _UNKNOWN_S
        if self.total is None or not per_minute or is_early:
            return per_minute, None
        return per_minute, max(0.0, self.total - self._worth) / per_minute


@contextmanager
def progress(key: str, what: str, total: int | None) -> Iterator[Progress]:
    """Yield a `Progress`; report the last state at the end, also after an error.

    Args:
        key: The artifact's key: lower-case letters, digits and dashes.
        what: What is counted, in the plural.
        total: Number of items; None where only the end will tell, which makes no artifact.
    """
    bar = None if total is None else Bar(key, what)
    counter = Progress(what, total, bar)
    try:
        yield counter
    finally:
        counter.report(at_end=True)
