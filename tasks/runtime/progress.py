"""Progress of long tasks: log lines, and an artifact in the Prefect UI."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.logging import get_run_logger

_SECONDS_BETWEEN_REPORTS = 10.0
_SECONDS_AFTER_A_FAILURE = 300.0  # each try takes the client up to a minute


@dataclass
class Progress:
    """Counter of finished items, which reports every few seconds.

    Attributes:
        what: What is counted, in the plural ("pairs annotated").
        total: Number of items; None where only the end will tell.
        artifact: Id of the artifact in the Prefect UI, where the total is known.
        done: Number of finished items.
    """

    what: str
    total: int | None
    artifact: UUID | None
    done: int = 0
    _started: float = field(default_factory=time.monotonic)
    _reported: float = field(default_factory=time.monotonic)

    def advance(self, items: int) -> None:
        """Count finished items; report if the last report is some seconds old."""
        self.done += items
        if time.monotonic() - self._reported >= _SECONDS_BETWEEN_REPORTS:
            self.report()

    def report(self) -> None:
        """Log the progress and update the artifact, with the estimated time left."""
        self._reported = time.monotonic()
        elapsed = max(self._reported - self._started, 1e-9)
        pace = self.done / elapsed
        if self.total is None or self.artifact is None:
            get_run_logger().info("%s %s, %s", f"{self.done:,}", self.what, _rate(pace))
            return
        left = f", about {_duration((self.total - self.done) / pace)} left" if self.done else ""
        get_run_logger().info(
            "%s of %s %s, %s%s",
            f"{self.done:,}", f"{self.total:,}", self.what, _rate(pace), left,
        )  # fmt: skip
        try:
            update_progress_artifact(self.artifact, progress=100.0 * self.done / max(self.total, 1))
        except Exception as error:  # noqa: BLE001 - what the bar shows is not worth a run
            self._reported = time.monotonic() + _SECONDS_AFTER_A_FAILURE
            get_run_logger().warning("Prefect's server does not take the progress: %s", error)


@contextmanager
def progress(key: str, what: str, total: int) -> Iterator[Progress]:
    """Yield a `Progress` with its artifact; report the last state at the end, also after an error.

    Args:
        key: The artifact's key: lower-case letters, digits and dashes.
        what: What is counted, in the plural.
        total: Number of items.
    """
    artifact = create_progress_artifact(progress=0.0, key=key, description=what)
    assert isinstance(artifact, UUID)  # noqa: S101 - a coroutine only where there is an event loop
    counter = Progress(what, total, artifact)
    try:
        yield counter
    finally:
        counter.report()


@contextmanager
def open_ended_progress(what: str) -> Iterator[Progress]:
    """Yield a `Progress` of a total that only the end will tell; it writes to the log.

    Args:
        what: What is counted, in the plural.
    """
    counter = Progress(what, total=None, artifact=None)
    try:
        yield counter
    finally:
        counter.report()


def _rate(pace: float) -> str:
    """Return items a second as text, by the minute where they are few."""
    return f"{pace:,.0f} a second" if pace >= 10 else f"{pace * 60:,.1f} a minute"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
