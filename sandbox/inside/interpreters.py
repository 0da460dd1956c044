"""New interpreters, for another hash seed, for isolated code, and for other languages.

For languages that are compiled they are executables of code and program. Each is made once for its
text, by the harness, before anything of either runs: what compiling takes is no time of a run, and
versions of the code that differ inside of functions share the program's. The runner alone has them,
in files that nobody can write to or read.
"""

from __future__ import annotations

import fcntl
import json
import marshal
import os
import resource
import socket
import sys
from collections.abc import Mapping

from sandbox.inside.child import CASES, REPORT, package_folders
from sandbox.inside.instrumentation import instrument
from sandbox.inside.processes import (
    REPORT_BYTES,
    STARVED,
    Process,
    Stream,
    enter,
    read_report,
    socket_pair,
)
from sandbox.inside.proxy import ALONE, CHANNEL, GIVEN_UP, NOT_SEPARABLE
from sandbox.inside.seccomp import restrict_system_calls

_SERVICE_FILES = (1, 2, 3)
BUILD_TIMEOUT_S = 60.0  # for code or program, which no text takes but by a fault of the machine
_CORE_S = 10  # of a core's time that one tool may take, which usually needs less than one
_MOST = 8  # executables that are kept; each takes some megabytes of the box's memory
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from sandbox.inside import Codes, Job, Report


def become_interpreter(job: Job, codes: Codes) -> None:
    """Become a new interpreter, with the job's hash seed and the job as its stdin.

    Args:
        job: The argument of the last module's ``prepare``.
        codes: Name and code of each module, the last of which has ``prepare``.
    """
    _give(marshal.dumps((codes, job)))
    arguments = [*sys.orig_argv[: sys.orig_argv.index("runner")], "child"]
    os.execve(sys.executable, arguments, os.environ)  # noqa: S606 - our own interpreter


def become_harness(job: Job, parts: Mapping[str, object], executable: int | None = None) -> None:
    """Become the harness of another language, or what it has made, with a job as its stdin.

    The executable cannot be read, so that the kernel hides the process from others of its user: one
    such process has the program and the report, another the code.

    Args:
        job: The job as it came from the host.
        parts: What the process works on: ``program`` and ``token``, or ``code``; of what is to be
            compiled, as of `Builds`.
        executable: The file of what the harness has made of it.
    """
    common = {"clock": job["clock"], "on_copies": job["isolated"] == "on_copies", "cases": CASES}
    _give(json.dumps({**common, "given_up": GIVEN_UP, "alone": ALONE, **parts}).encode())
    restrict_system_calls()
    command = job["harness"]
    if executable is None:
        os.execvpe(command[0], command, os.environ)  # noqa: S606 - the image's
    os.set_inheritable(executable, False)
    os.execve(f"/proc/self/fd/{executable}", ["box"], os.environ)  # noqa: S606 - of this box


def _give(data: bytes) -> None:
    """Make data this process's stdin, also after it became another program."""
    file = os.memfd_create("job", 0)
    with open(file, "wb", closefd=False) as opened:
        opened.write(data)
    os.lseek(file, 0, os.SEEK_SET)
    os.dup2(file, 0)
    os.close(file)


def start_service(job: Job, codes: Codes, *executables: int) -> int:
    """Start the process of the code under test; return the program's end of the socket to it.

    It is a new interpreter, which gets the code and nothing of the program. It loads the code when
    it is asked to, which a program does once its own process is hidden from others.

    Args:
        job: The job of the program.
        codes: The modules that the process needs.
        executables: The file of what a harness has made of the code, where it is compiled.
    """
    ends = socket.socketpair()
    here, there = (end.detach() for end in ends)
    if os.fork():
        os.close(there)
        return here
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        environment = dict(job["environment"])
        files = (*_SERVICE_FILES, CHANNEL)[: len(_SERVICE_FILES) + len(executables)]
        enter([null, null, there, *executables], files, environment)
        if job.get("harness"):
            become_harness(job, {"code": job["code"]}, CHANNEL if executables else None)
        os.environ["PYTHONHASHSEED"] = str(job["hash_seed"])
        made = instrument({"code": job["code"], "program": ""})
        own = {key: job[key] for key in ("hash_seed", "clock", "memory")}
        texts = {"text": job["code"], "code": made["code"], "called": made["names"][0]}
        become_interpreter({**own, **texts, "packages": package_folders(job)}, codes)
    finally:
        os._exit(1)


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
        limit = self.watch()
        if limit in (STARVED, "timeout"):
            outcome: Report = {"outcome": STARVED}
        elif not limit and self.exit_code == 0:
            outcome = read_report(self._report.content(), self._token) or {}
        else:
            told = [*self._told.text().splitlines(), ""] if self.exit_code == GIVEN_UP else []
            reason = told[0] if told else f"it cannot be compiled: {limit or self.exit_code}"
            outcome = {"outcome": "raised", "error_type": NOT_SEPARABLE, "message": reason}
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
