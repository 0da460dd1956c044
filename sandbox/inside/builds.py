"""Executables of code and program, for languages that are compiled.

Each is made once for its text, by the harness, before anything of either runs: what compiling takes
is no time of a run, and versions of the code that differ inside of functions share the program's.
The runner alone has them, in files that nobody can write to or read.
"""

from __future__ import annotations

import fcntl
import os
import resource

from sandbox.inside.child import REPORT
from sandbox.inside.interpreters import become_harness
from sandbox.inside.processes import STARVED, Process
from sandbox.inside.proxy import GIVEN_UP, NOT_SEPARABLE
from sandbox.inside.reports import REPORT_BYTES, read_report
from sandbox.inside.streams import Stream, socket_pair

BUILD_TIMEOUT_S = 60.0  # for code or program, which no text takes but by a fault of the machine
_CORE_S = 10  # of a core's time that one tool may take, which usually needs less than one
_MOST = 8  # executables that are kept; each takes some megabytes of the box's memory
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from sandbox.inside import Job, Report


class Builds:
    """The executables that a box has made last, by what they are made of."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, str], tuple[int, str]] = {}

    def make(self, job: Job, token: str) -> tuple[tuple[int, ...], Report]:
        """Return the executables of a job's code and program, or the report where there is none.

        Args:
            job: The job.
            token: What a harness's report begins with.
        """
        executables: tuple[int, ...] = ()
        stubs = ""
        for part in ("code", "program"):
            key = (part, job[part], stubs)
            made = self._kept.pop(key, None)
            if made is None:
                build = _Build(
                    job, {"part": part, "text": job[part], "stubs": stubs, "token": token}
                )
                if report := build.report():
                    return (), report
                made = (build.executable, build.stubs)
            self._kept[key] = made
            executables, stubs = (*executables, made[0]), made[1]
        for key in list(self._kept)[:-_MOST]:
            os.close(self._kept.pop(key)[0])
        return executables, {}


class _Build(Process):
    """The making of one executable, by a harness of which nothing of the text runs."""

    def __init__(self, job: Job, parts: dict[str, str]) -> None:
        self._token = parts["token"].encode()
        self._told, self._report = Stream(job["keep"]), Stream(2 * REPORT_BYTES, socket_pair)
        super().__init__(BUILD_TIMEOUT_S, job["cut"], (self._told, self._report))
        self.executable = os.memfd_create("box", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        if self.fork((2, REPORT), {}, (self.executable,)):
            resource.setrlimit(resource.RLIMIT_CPU, (_CORE_S, _CORE_S))
            become_harness(job, parts)

    @property
    def stubs(self) -> str:
        """A program's needs of the code, as its harness says."""
        return self._report.content().decode()

    def report(self) -> Report:
        """Wait for the executable; return {}, or the report of a run that cannot be."""
        outcome = self._outcome(self.watch())
        if not outcome:
            os.fchmod(self.executable, 0o111)
            fcntl.fcntl(self.executable, fcntl.F_ADD_SEALS, _SEALS)
            return {}
        os.close(self.executable)
        return {
            **outcome,
            "seconds": self.seconds,
            "peak_memory_mb": self.peak_kb / 1024,
            "stdout": "",
            "stderr": self._told.text(),
        }

    def _outcome(self, limit: str) -> Report:
        if limit in (STARVED, "timeout"):
            return {"outcome": STARVED}
        if not limit and self.exit_code == 0:
            return read_report(self._report.content(), self._token) or {}
        told = [*self._told.text().splitlines(), ""] if self.exit_code == GIVEN_UP else []
        reason = told[0] if told else f"it cannot be compiled: {limit or self.exit_code}"
        return {"outcome": "raised", "error_type": NOT_SEPARABLE, "message": reason}
