"""The log, the progress and the artifacts of stages, as the Prefect UI shows them.

Prefect is imported where it is asked for a logger.
"""

import logging
import re
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, copy_context
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, cast
from uuid import UUID

from infra.files import write_outputs
from tasks.reports.document import Document
from tasks.reports.text import format_duration, format_pace

if TYPE_CHECKING:
    import pyarrow as pa

_LIBRARIES = ("agents", "sandbox", "infra")

Logger = logging.Logger | logging.LoggerAdapter[logging.Logger]

_SECONDS_BETWEEN_REPORTS = 10.0
_REPORTS = 7  # that a pace is measured over: a minute at least

_is_interrupted = Event()  # an interrupt reaches the main thread alone


def get_run_logger() -> Logger:
    """Return the logger of the current flow or task run, as Prefect's function of this name."""
    from prefect.logging import get_run_logger as of_prefect  # noqa: PLC0415 - takes a second

    return of_prefect()


def run_logger(name: str) -> Logger:
    """Return the logger of the current flow or task run; outside of runs, a module's logger.

    On a Ray worker, a run's logger writes to Prefect's server, a module's to Ray's log files.
    """
    if "prefect" not in sys.modules:  # and so there is no run
        return logging.getLogger(name)
    from prefect.exceptions import MissingContextError  # noqa: PLC0415 - see `get_run_logger`

    try:
        return get_run_logger()
    except MissingContextError:
        return logging.getLogger(name)


def hear_libraries() -> None:
    """Let Prefect's handler have what agents, sandbox and infra log in this worker's process.

    Ray's workers have it by ``PREFECT_LOGGING_EXTRA_LOGGERS``, see `infra.ray`.
    """
    for library in _LIBRARIES:
        logging.getLogger(library).setLevel(logging.INFO)


def send_logs() -> None:
    """Send what this worker's run has logged: the process may be gone a moment later.

    The service that sends begins anew outside of the run. Prefect keeps a copy of the context in
    which any of its services was started as long as the process, and by it the run's parameters
    and result. So only this service is stopped, where `APILogWorker.drain_all` would stop all.
    """
    from prefect.context import SettingsContext  # noqa: PLC0415 - see `get_run_logger`
    from prefect.logging.handlers import APILogWorker  # noqa: PLC0415

    APILogWorker.instance().drain()
    known = SettingsContext.get()
    if known is None:
        return
    outside = SettingsContext(profile=known.profile, settings=known.settings)

    def start() -> None:
        with outside:
            APILogWorker.instance()

    Context().run(start)


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


class Progress:
    """Counter of finished items, which every few seconds logs a line and moves a bar in the UI.

    The bar is worth no run: a server that did not take it is asked again at the end alone.

    Args:
        what: The counted items, in the plural ("pairs annotated").
        total: Number of items; None where only the end will tell, which makes no bar.
        key: The bar's key as an artifact: lower-case letters, digits and dashes; "" makes none.

    Attributes:
        done: Number of finished items.
        note: A remark that is shown with the progress; empty for none.
        trouble: What the items that are left wait for; empty for nothing.
    """

    def __init__(self, what: str, total: int | None, key: str = "") -> None:
        self.total = total
        self.done = 0
        self.note = self.trouble = ""
        self._what = what
        self._log = run_logger(__name__)  # a thread that moves the bar may have no run
        self._key = key
        self._artifact: UUID | None = None
        self._is_refused = False
        self._began = time.monotonic()
        # When the last reports were, and what was done then: the pace is that since the oldest.
        self._reports = deque([(time.monotonic(), 0)], maxlen=_REPORTS)
        # A thread that counts for the stage knows neither its run nor the server.
        self._context = copy_context()
        self._move_bar(what)

    def advance(self, items: int) -> None:
        """Count finished items; report if the last report is some seconds old.

        Raises:
            KeyboardInterrupt: The run was interrupted while this stage was in a thread of its own.
        """
        raise_if_stopped()
        self.done += items
        if time.monotonic() - self._reports[-1][0] >= _SECONDS_BETWEEN_REPORTS:
            self.report()

    def report(self, *, at_end: bool = False) -> None:
        """Log the progress and move the bar, with the estimated time left; in any thread."""
        self._context.copy().run(self._report, at_end=at_end)

    def _report(self, *, at_end: bool) -> None:
        now, (since, before) = time.monotonic(), self._reports[0]
        self._reports.append((now, self.done))
        if self.done == before:
            since, before = self._began, 0
        per_minute = 60 * (self.done - before) / max(now - since, 1e-9)
        pace = format_pace(per_minute) if self.done else f"none in {format_duration(now - since)}"
        noted = f"{self._what} ({self.note})" if self.note else self._what
        counted, left = f"{self.done:,}", ""
        if self.total is not None:
            counted += f" of {self.total:,}"
            rest = max(0, self.total - self.done)
            if per_minute and not at_end:
                left = f", about {format_duration(60 * rest / per_minute)} left"
            if self.trouble:
                left = f", {rest:,} wait: {self.trouble}"
        self._log.info("%s %s, %s%s", counted, noted, pace, left)
        if at_end or not self._is_refused:
            self._move_bar(noted)

    def _move_bar(self, description: str) -> None:
        if not self._key or self.total is None:
            return
        from prefect.artifacts import (  # noqa: PLC0415 - takes a second
            create_progress_artifact,
            update_progress_artifact,
        )

        per_cent = min(100.0, 100.0 * self.done / max(self.total, 1))
        try:
            if self._artifact:
                update_progress_artifact(self._artifact, progress=per_cent, description=description)
            else:
                made = create_progress_artifact(
                    progress=per_cent, key=self._key, description=description
                )
                self._artifact = cast("UUID", made)  # a coroutine only under an event loop
        except Exception as error:  # noqa: BLE001 - what the bar shows is not worth a run
            self._is_refused = True  # each try takes the client up to a minute
            self._log.warning("Prefect's server does not take the progress: %s", error)


@contextmanager
def progress(key: str, what: str, total: int | None) -> Iterator[Progress]:
    """Yield a `Progress`; report the last state at the end, also after an error."""
    counter = Progress(what, total, key)
    try:
        yield counter
    finally:
        counter.report(at_end=True)


def artifact_key(kind: str, name: str) -> str:
    """Return the key of an artifact, such as ``funnel-python-source``.

    It is the same in each run on a collection, so that the Prefect UI shows their history.
    """
    letters = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")  # what Prefect takes
    return f"{kind}-{letters or 'unnamed'}"


def time_of_writing() -> str:
    """Return the present time to the minute, as reports have it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def write_pages(
    folder: Path,
    name: str,
    document: Document,
    others: Mapping[str, "str | pa.Table"],
    *,
    key: str,
    about: str,
) -> None:
    """Write a document as HTML and as Markdown, with other files; the Markdown is an artifact too.

    Other files in the folder stay; ``others`` has further ones by name.
    """
    from prefect.artifacts import create_markdown_artifact  # noqa: PLC0415 - takes a second

    from tasks.reports.render import html_page, markdown_page  # noqa: PLC0415 - imports jinja2

    text = markdown_page(document)
    write_outputs(folder, {f"{name}.html": html_page(document), f"{name}.md": text, **others})
    create_markdown_artifact(text, key=key, description=about)
