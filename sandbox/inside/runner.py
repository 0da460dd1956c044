"""The first process in a box, which runs each job of the host in a fresh process.

The host speaks in frames over the attached stdin and stdout: four bytes of length, big-endian, then
JSON. A job holds ``code``, ``program``, ``hash_seed``, ``clock`` and the limits; the answer is a
report in the terms of ``ExecutionResult``, ``clean`` in it says whether the box can take another.

A job under the runner's own hash seed runs in a fork, which costs two milliseconds; another seed
needs a new interpreter. All that a program started dies with it, by one call that reaches every
process but this one; from inside, no signal reaches the first process of a container, and its
memory and files are hidden.
"""

from __future__ import annotations

import contextlib
import gc
import json
import marshal
import os
import selectors
import signal
import sys
import time
import traceback  # noqa: F401 - for the forks, which need it where a program fails
from collections.abc import Callable
from types import CodeType

from sandbox.inside.child import FAILED, REPORT, hide_process, prepare
from sandbox.inside.counting import instrumented
from sandbox.inside.play import FIELDS
from sandbox.inside.streams import Stream

_CHUNK = 65_536
_REPORT_BYTES = 262_144
_FILES = 256
_ENVIRONMENT = {
    "HOME": "/tmp",  # noqa: S108 - the only writable place in a box
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
_KEPT = ("PATH", "LD_LIBRARY_PATH")  # with what Debian packages have brought
_WRITABLE = ("/tmp", "/dev/shm")  # noqa: S108
_OOM_COUNTERS = (
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
)
_COUNTS = ("tests_run", "asserts_executed", "target_calls")
_FAILURES = ("assertion_failed", "raised", "import_error", "memory")

TYPE_CHECKING = False  # as of `typing`, which takes longer to import than a job may take
if TYPE_CHECKING:
    from typing import Any

    Job = dict[str, Any]
    Report = dict[str, Any]
    Codes = list[tuple[str, CodeType]]  # the compiled modules that a child needs


class JobRun:
    """One job in one child, from its start to its report."""

    def __init__(self, job: Job) -> None:
        self._limits = job
        self._secret = os.urandom(16).hex()
        self._out, self._err, self._report = self._streams = (
            Stream(job["keep"]), Stream(job["keep"]), Stream(2 * _REPORT_BYTES),
        )  # fmt: skip
        self._start = time.monotonic()
        self._kills_before = _oom_kills()
        self._child = 0
        self._status = 0
        self._peak_kb = 0

    def start(self, own_seed: int, codes: Codes) -> Job | None:
        """Fork; return the job in a child that shall run it, and None in this process."""
        keys = ("code", "program", "memory", "hash_seed", "clock")
        job = {**{key: self._limits[key] for key in keys}, "secret": self._secret}
        self._child = os.fork()
        if self._child:
            for stream in self._streams:
                os.close(stream.write_end)
            return None
        _enter([stream.write_end for stream in self._streams])
        os.environ["PYTHONHASHSEED"] = str(job["hash_seed"])
        job = instrumented(job)
        if job["hash_seed"] != own_seed:
            _execute(job, codes)
        self._secret = ""
        return job

    def report(self) -> Report:
        """Let the program run, end everything it started, and return the report."""
        cut = self._watch(self._start + self._limits["timeout"])
        self._end()
        return {
            **self._outcome(cut),
            "seconds": time.monotonic() - self._start,
            "peak_memory_mb": self._peak_kb / 1024,
            "stdout": self._out.text(),
            "stderr": self._err.text(),
        }

    def _watch(self, deadline: float) -> str:
        """Read until the child is gone; return ``timeout`` or ``output_limit`` when it is cut."""
        with selectors.DefaultSelector() as selector:
            for stream in self._streams:
                selector.register(stream.file, selectors.EVENT_READ, stream)
            watcher = os.pidfd_open(self._child)
            selector.register(watcher, selectors.EVENT_READ)
            try:
                while (left := deadline - time.monotonic()) > 0:
                    for key, _ in selector.select(left):
                        if key.fd == watcher:
                            return ""
                        if not key.data.read():
                            selector.unregister(key.fd)
                    if self._exceeds_output():
                        return "output_limit"
            finally:
                os.close(watcher)
        return "timeout"

    def _exceeds_output(self) -> bool:
        printed = self._out.size + self._err.size
        return printed > self._limits["cut"] or self._report.size > _REPORT_BYTES

    def _end(self) -> None:
        """Kill all that runs beside this process, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, 0)
                if pid == self._child:
                    self._status, self._peak_kb = status, usage.ru_maxrss
        for stream in self._streams:
            stream.drain()

    def _outcome(self, cut: str) -> Report:
        if cut:
            limit = f"{self._limits['timeout']:g} s" if cut == "timeout" else "the limit of output"
            return {"outcome": cut, "message": f"the program was stopped at {limit}"}
        if _oom_kills() > self._kills_before:
            return {"outcome": "memory", "message": "the kernel stopped a process for memory"}
        code = os.waitstatus_to_exitcode(self._status)
        if code < 0:
            return {"outcome": "killed", "message": f"ended by {signal_name(-code)}"}
        report = read_report(self._report.content(), self._secret.encode()) if code == 0 else None
        if report is not None:
            return report
        ending = "with a forged report" if self._report.size else "without a report"
        return {"outcome": "killed", "message": f"exit code {code} {ending}"}


def read_report(data: bytes, secret: bytes) -> Report | None:
    """Return the report of ``child.py``'s guard; None where anything else wrote to its pipe."""
    before, separator, rest = data.partition(secret)
    counts, newline, error = rest.partition(b"\n")
    if before or not separator or not newline or secret in rest:
        return None
    report = _read_counts(counts)
    if report is None:
        return None
    if not error:
        return {"outcome": "passed", **report}
    fields = error.removeprefix(FAILED).decode(errors="backslashreplace").split("\0")
    if not error.startswith(FAILED) or len(fields) != len(FIELDS) or fields[0] not in _FAILURES:
        return None
    if any(len(field) > longest for field, longest in zip(fields, FIELDS.values(), strict=True)):
        return None
    return {**dict(zip(FIELDS, fields, strict=True)), **report}


def _read_counts(text: bytes) -> Report | None:
    """Return the counts of a report; None where they are not three numbers of 31 bits."""
    numbers = text.split()
    if len(numbers) != len(_COUNTS) or not all(n.isdigit() and len(n) < 11 for n in numbers):
        return None
    counts = dict(zip(_COUNTS, map(int, numbers), strict=True))
    return counts if max(counts.values()) < 2**31 else None


def signal_name(number: int) -> str:
    """Return a signal's name, or its number: Python has no name for most real-time signals."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _enter(files: list[int]) -> None:
    """Make a fork a process of its own: output, environment, and nothing of the runner's."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for source, place in zip(files, (1, 2, REPORT), strict=True):
        os.dup2(source, place)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.closerange(REPORT + 1, _FILES)
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    os.environ.clear()
    os.environ.update(kept, **_ENVIRONMENT)
    # When memory runs out, the kernel shall kill this process before the runner.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def _execute(job: Job, codes: Codes) -> None:
    """Become a new interpreter, with the job's hash seed and the job as its stdin."""
    file = os.memfd_create("job", 0)
    with open(file, "wb", closefd=False) as opened:
        marshal.dump((codes, job), opened)
    os.lseek(file, 0, os.SEEK_SET)
    os.dup2(file, 0)
    os.close(file)
    arguments = [*sys.orig_argv[: sys.orig_argv.index("runner")], "child"]
    os.execve(sys.executable, arguments, os.environ)  # noqa: S606 - our own interpreter


def _oom_kills() -> int:
    for file in _OOM_COUNTERS:
        with contextlib.suppress(OSError), open(file) as opened:
            words = opened.read().split()
            return int(words[words.index("oom_kill") + 1])
    return 0


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


def serve(codes: Codes) -> Callable[[], None]:
    """Serve jobs until the host disconnects; in a fork, return the call that runs its job.

    Args:
        codes: Name and code of each module that a new interpreter needs for a job.

    The kernel withholds from the first process all signals that it does not handle, so this one
    handles none, Python's own handler for SIGINT taken off.
    """
    hide_process()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    own_seed = int(os.environ["PYTHONHASHSEED"])
    gc.freeze()
    _answer({"ready": True})
    while True:
        run = JobRun(json.loads(_read(int.from_bytes(_read(4), "big"))))
        job = run.start(own_seed, codes)
        if job is not None:
            return prepare(job)
        report = run.report()
        report["clean"] = _clean_up()
        _answer(report)
