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
import os
import signal
import sys
import traceback  # noqa: F401 - for the forks, which need it where a program fails
from collections.abc import Callable

from sandbox.inside.child import REPORT, prepare
from sandbox.inside.frames import read_frame, write_frame
from sandbox.inside.instrumentation import instrument
from sandbox.inside.interpreters import Builds, become_harness, become_interpreter, start_service
from sandbox.inside.processes import (
    REPORT_BYTES,
    Process,
    Stream,
    read_report,
    remove_all,
    run_command,
    socket_pair,
    sockets_in_use,
)
from sandbox.inside.proxy import ALONE, CHANNEL, GIVEN_UP, NOT_SEPARABLE
from sandbox.inside.seccomp import hide_process

_LARGEST_JOB = 2**32  # bytes: any, since jobs are the host's
_REASON = 500

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from sandbox.inside import Codes, Job, Report


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
        job = instrument(job)
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
        report = read_report(content, token) if code == 0 else None
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
    write_frame(1, {"ready": True})
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
    try:
        request = read_frame(0, _LARGEST_JOB)
    except EOFError:  # the host closed the connection
        sys.exit(0)
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
    report["clean"] = remove_all(sockets)
    write_frame(1, report)
    return None
