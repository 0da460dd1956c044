"""The first process in a box, which runs each job of the host in a fresh process.

The host speaks in frames over the attached stdin and stdout: four bytes of length, big-endian, then
JSON. A job holds ``code``, ``program``, ``hash_seed``, ``clock`` and the limits; the answer is a
report in the terms of ``ExecutionResult``, ``clean`` in it says whether the box can take another.
``harness`` is the command line of another language's harness, empty for Python; ``compiled`` says
that it makes executables of code and program before they run.
``commands`` are run first, each time, for the files that they make. A job with a ``command`` in
place of a program is answered with what that printed.

A job under the runner's own hash seed runs in a fork, which costs two milliseconds; another seed,
or libraries that the loader must find, need a new interpreter. All that a program started dies with
it, by one call that reaches every process but this one; from inside, no signal reaches the first
process of a container, and its memory and files are hidden.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import traceback  # noqa: F401 - for the forks, which need it where a program fails
from collections.abc import Callable
from types import CodeType

from sandbox.inside.builds import Builds
from sandbox.inside.child import REPORT, prepare
from sandbox.inside.instrumentation import instrumented
from sandbox.inside.interpreters import (
    CHANNEL,
    become_harness,
    become_interpreter,
    start_service,
)
from sandbox.inside.processes import Process, run_command
from sandbox.inside.proxy import ALONE, GIVEN_UP, NOT_SEPARABLE
from sandbox.inside.reports import REPORT_BYTES, read_report
from sandbox.inside.seccomp import hide_process
from sandbox.inside.sockets import are_gone, sockets_in_use
from sandbox.inside.streams import Stream, socket_pair

_CHUNK = 65_536
_REASON = 500
_WRITABLE = ("/tmp", "/dev/shm")  # noqa: S108

TYPE_CHECKING = False  # as of `typing`, which takes longer to import than a job may take
if TYPE_CHECKING:
    from typing import Any

    Job = dict[str, Any]
    Report = dict[str, Any]
    Codes = list[tuple[str, CodeType]]  # compiled modules


class JobRun(Process):
    """One job in one child, from its start to its report.

    Args:
        job: The job.
        token: What the report of a harness begins with.
        executables: Code and program where they are compiled, else nothing.
    """

    def __init__(self, job: Job, token: str, executables: tuple[int, ...] = ()) -> None:
        self._job, self._token, self._executables = job, token, executables
        self._out, self._err = Stream(job["keep"]), Stream(job["keep"])
        self._report = Stream(2 * REPORT_BYTES, socket_pair)
        super().__init__(job["timeout"], job["cut"], (self._out, self._err, self._report))

    def start(self, own_seed: int, codes: tuple[Codes, Codes]) -> Job | None:
        """Fork; return the job in a child that shall run it, and None in this process.

        Args:
            own_seed: The hash seed of this interpreter.
            codes: What a child with an interpreter of its own needs, and the process of the code
                under test, where that is isolated.
        """
        keys = ("code", "program", "memory", "hash_seed", "clock", "bare", "isolated")
        job = {key: self._job.get(key) for key in keys}
        for_child, for_service = codes
        is_isolated = job["isolated"] or self._job.get("harness")
        executables = self._executables
        more = (start_service(self._job, for_service, *executables[:1]),) if is_isolated else ()
        is_child = self.fork((1, 2, REPORT), self._job["environment"], (*more, *executables[1:]))
        if not is_child:
            for channel in more:
                os.close(channel)
            return None
        if self._job.get("harness"):
            executable = CHANNEL + 1 if executables else None
            parts = {"program": self._job["program"], "token": self._token}
            become_harness(self._job, parts, executable)
        os.environ["PYTHONHASHSEED"] = str(job["hash_seed"])
        job = instrumented(job)
        if job["hash_seed"] != own_seed:
            become_interpreter(job, for_child)
        return job

    def report(self) -> Report:
        """Let the program run, end everything it started, and return the report."""
        limit = self.watch()
        return {
            **self._outcome(limit),
            "seconds": self.seconds,
            "peak_memory_mb": self.peak_kb / 1024,
            "stdout": self._out.text(),
            "stderr": self._err.text(),
        }

    def exceeds_output(self) -> bool:
        """Return True if the program has printed or reported too much."""
        printed = self._out.size + self._err.size
        return printed > self._job["cut"] or self._report.size > REPORT_BYTES

    def _outcome(self, limit: str) -> Report:
        if limit == "memory":
            return {"outcome": "memory", "message": "the kernel stopped a process for memory"}
        if limit:
            size = f"{self._job['timeout']:g} s" if limit == "timeout" else "the limit of output"
            return {"outcome": limit, "message": f"the program was stopped at {size}"}
        code = self.exit_code
        if (self._job["isolated"] or self._job.get("harness")) and code in (GIVEN_UP, ALONE):
            lines = self._err.text().splitlines() if code == GIVEN_UP else []
            return {
                "outcome": "raised" if lines else "killed",
                "error_type": NOT_SEPARABLE if lines else "",
                "message": lines[-1][:_REASON] if lines else "the code under test ended",
            }
        if code < 0:
            return {"outcome": "killed", "message": f"ended by {signal_name(-code)}"}
        content, token = self._report.content(), self._token.encode()
        is_whole = code == 0 and content.startswith(token)
        report = read_report(content.removeprefix(token)) if is_whole else None
        if report is not None:
            return report
        ending = "with a forged report" if self._report.size else "without a report"
        return {"outcome": "killed", "message": f"exit code {code} {ending}"}


def signal_name(number: int) -> str:
    """Return a signal's name, or its number: Python has no name for most real-time signals."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _clean_up() -> bool:
    """Empty what programs can write to; return whether that succeeded."""
    try:
        for top in _WRITABLE:
            for folder, folders, files in os.walk(top, topdown=False, onerror=_refuse):
                for name in files:
                    os.unlink(os.path.join(folder, name))
                for name in folders:
                    path = os.path.join(folder, name)
                    (os.unlink if os.path.islink(path) else os.rmdir)(path)
    except (OSError, RecursionError):
        return False
    return True


def _refuse(error: OSError) -> None:
    raise error


def _read(size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = os.read(0, min(size - len(data), _CHUNK))
        if not piece:
            sys.exit(0)  # the host closed the connection
        data += piece
    return data


def _answer(report: Report) -> None:
    data = json.dumps(report).encode()
    data = len(data).to_bytes(4, "big") + data
    while data:
        data = data[os.write(1, data) :]


def serve(codes: tuple[Codes, Codes]) -> Callable[[], None]:
    """Serve jobs until the host disconnects; in a fork, return the call that runs its job.

    Args:
        codes: As of `JobRun.start`: name and code of each module.

    The kernel withholds from the first process all signals that it does not handle, so this one
    handles none, Python's own handler for SIGINT taken off.
    """
    hide_process()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    own_seed = int(os.environ["PYTHONHASHSEED"])
    sockets = sockets_in_use()
    builds = Builds()
    gc.freeze()
    _answer({"ready": True})
    while True:
        job = _serve_next(own_seed, codes, sockets, builds)
        if job is not None:
            return prepare(job)


def _serve_next(
    own_seed: int, codes: tuple[Codes, Codes], sockets: int, builds: Builds
) -> Job | None:
    """Serve one job; in a fork, return the one to run.

    No variable lives on with a request or a report: the next program runs in a fork of this one.
    """
    request = json.loads(_read(int.from_bytes(_read(4), "big")))
    for command in request["commands"]:
        run_command(command, request)
    if "command" in request:
        report = run_command(request["command"], request)
    else:
        token = os.urandom(16).hex() if request.get("harness") else ""
        executables, report = builds.make(request, token) if request.get("compiled") else ((), {})
        if not report:
            run = JobRun(request, token, executables)
            job = run.start(own_seed, codes)
            if job is not None:
                return job
            report = run.report()
    report["clean"] = _clean_up() and are_gone(sockets)
    _answer(report)
    return None
