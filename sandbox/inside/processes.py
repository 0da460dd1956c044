"""Processes of the runner: each is watched to its end, with all that it started.

And what they leave: their output, of which the beginning and the end are kept; the report that the
guard of a child process wrote; files, and sockets that belong to no process any more. A socket that
was sent to itself, or two that were sent to each other, stay open with their ports and messages
when every process is gone, until the kernel's collector finds them.
"""

from __future__ import annotations

import _socket
import contextlib
import fcntl
import os
import resource
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Mapping

from sandbox.inside.child import FAILED, REPORT, package_folders
from sandbox.inside.failures import CASE_FIELDS, FIELDS
from sandbox.inside.seccomp import restrict_system_calls

_CHUNK = 65_536
MOST_WAITING = 12  # times the limit that pass at most while a program waits for a core
STARVED = "starved"  # the end of a process that had no core for most of that time: no evidence
_SAMPLE_S = 0.5  # until the waiting of threads is seen again
_FILES = 256
_ENVIRONMENT = {
    "HOME": "/tmp",  # noqa: S108 - the only writable place in a box
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
_KEPT = ("PATH",)
# Nothing is reached from here, so that nothing needs to be tried twice.
_OFFLINE = {
    "PIP_BREAK_SYSTEM_PACKAGES": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PIP_RETRIES": "0",
}
_CORE_COUNTERS = (  # and the place of the number there, and how many of it are a second
    ("/sys/fs/cgroup/cpu.stat", 1, 1e6),
    ("/sys/fs/cgroup/cpuacct/cpuacct.usage", 0, 1e9),
)
_OOM_COUNTERS = (
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
)
REPORT_BYTES = 393_216  # more than a hundred tests that fail
_COUNTS = ("tests_run", "asserts_executed", "target_calls")
_FAILURES = ("assertion_failed", "raised", "import_error", "memory")

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from sandbox.inside import Job, Report
_WRITABLE = ("/tmp", "/dev/shm")  # noqa: S108 - what programs can write to
_TABLE = "/proc/net/sockstat"
_TRIES = 50
_WAIT_S = 0.005  # the collector works in the background, and needs some milliseconds


def socket_pair() -> tuple[int, int]:
    """Return two connected files; nobody can open them again by ``/proc``, as a pipe's can be."""
    read_end, write_end = _socket.socketpair()
    return read_end.detach(), write_end.detach()


class Stream:
    """One pipe, of whose content the beginning and the end are kept.

    Args:
        keep: Bytes that are kept, half from either end.
        connect: Makes the pipe's two ends, the one to read from first.
    """

    def __init__(self, keep: int, connect: Callable[[], tuple[int, int]] = os.pipe) -> None:
        self.file, self.write_end = connect()
        self.size = 0
        self._half = max(1, keep // 2)
        self._head = bytearray()
        self._tail = bytearray()
        os.set_blocking(self.file, False)

    def read(self) -> bool:
        """Read what is there; return False at the end of the pipe."""
        try:
            data = os.read(self.file, _CHUNK)
        except BlockingIOError:
            return True
        self.size += len(data)
        space = self._half - len(self._head)
        self._head += data[:space]
        self._tail = (self._tail + data[space:])[-self._half :]
        return bool(data)

    def drain(self) -> None:
        """Read the rest of a pipe whose writers have ended, and close it."""
        while self.read():
            pass
        os.close(self.file)

    def content(self) -> bytes:
        """Return the kept part; all that came, where that is no more."""
        return bytes(self._head + self._tail)

    def text(self) -> str:
        """Return the kept part as text; bytes that are none, and NUL, are shown as escapes."""
        left_out = self.size - len(self._head) - len(self._tail)
        if not left_out:
            return _shown(self._head + self._tail)
        return f"{_shown(self._head)}\n… {left_out} more bytes …\n{_shown(self._tail)}"


def _shown(data: bytearray) -> str:
    return data.decode(errors="backslashreplace").replace("\0", "\\x00")


class Process:
    """A child process, from its fork to its end.

    Args:
        timeout_s: Seconds until it is stopped, without those in which it and what it started waited
            for a core, but no less than cores worked for them: a limit is met by what a program
            does, not by what else the machine does. At most ``MOST_WAITING`` times as many pass.
        cut: Bytes of output at which it is stopped.
        streams: What it writes to.
    """

    def __init__(self, timeout_s: float, cut: int, streams: tuple[Stream, ...]) -> None:
        self._timeout_s = timeout_s
        self._cut = cut
        self.streams = streams
        self._start = time.monotonic()
        self._kills_before = oom_kills()
        self._cores_before = _used_cores()
        self._seen = 0.0
        self._waits: dict[str, float] = {}  # also of threads that have ended since they were seen
        self._child = 0
        self._status = 0
        self.peak_kb = 0

    def fork(
        self, files: tuple[int, ...], environment: Mapping[str, str], more: tuple[int, ...] = ()
    ) -> bool:
        """Fork; return True in the child, whose files and environment are its own.

        Args:
            files: The child's file descriptors, one for each stream.
            environment: Further variables.
            more: Files that become the child's next descriptors.
        """
        ends = [stream.write_end for stream in self.streams]
        self._child = os.fork()
        if not self._child:
            following = range(max(files) + 1, max(files) + 1 + len(more))
            enter([*ends, *more], (*files, *following), environment)
            return True
        for end in ends:
            os.close(end)
        return False

    def watch(self) -> str:
        """Read until the child is gone and end all it started; return the limit that it met, or "".

        That is ``timeout``, ``output_limit`` or ``memory``; ``STARVED`` where it met none, and had
        no core for most of the time.
        """
        cut = self._read()
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)  # all other processes of the box
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, 0)
                if pid == self._child:
                    self._status, self.peak_kb = status, usage.ru_maxrss
        for stream in self.streams:
            stream.drain()
        return cut or ("memory" if oom_kills() > self._kills_before else "")

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    @property
    def exit_code(self) -> int:
        """The exit status, or the negative number of the signal that ended it."""
        return os.waitstatus_to_exitcode(self._status)

    def _seconds_left(self) -> float:
        """Return the seconds that are left."""
        gone = self.seconds
        if gone > min(self._seen + _SAMPLE_S, self._timeout_s):
            self._seen = gone
            self._waits.update(_waits())
        worked = min(gone, _used_cores() - self._cores_before)
        return self._timeout_s - max(gone - sum(self._waits.values()), worked)

    def _read(self) -> str:
        with selectors.DefaultSelector() as selector:
            for stream in self.streams:
                selector.register(stream.file, selectors.EVENT_READ, stream)
            watcher = os.pidfd_open(self._child)
            selector.register(watcher, selectors.EVENT_READ)
            try:
                while (left := self._seconds_left()) > 0:
                    if self.seconds > MOST_WAITING * self._timeout_s:
                        return STARVED
                    for key, _ in selector.select(min(left, _SAMPLE_S)):
                        if key.fd == watcher:
                            return ""
                        if not key.data.read():
                            selector.unregister(key.fd)
                    if self.exceeds_output():
                        return "output_limit"
            finally:
                os.close(watcher)
        return "timeout"

    def exceeds_output(self) -> bool:
        """Return True if the child has printed too much."""
        return sum(stream.size for stream in self.streams) > self._cut


def run_command(command: str, job: Job) -> Report:
    """Run a terminal command in the working directory of programs and return how it ended.

    Args:
        command: What ``sh`` runs.
        job: The limits, and the variables that earlier commands have set.
    """
    folders = package_folders(job)
    programs = [f"{folder}/bin" for folder in folders]
    installed = {
        "PATH": ":".join((*programs, os.environ.get("PATH", os.defpath))),
        "PYTHONPATH": ":".join(folders),
    }
    process = Process(job["command_timeout"], job["cut"], (Stream(job["keep"]),))
    if process.fork((1,), {**_OFFLINE, **installed, **job["environment"]}):
        _execute(command, job["memory"])
    limit = process.watch()
    (output,) = process.streams
    return {
        "status": None if limit else process.exit_code,
        "stopped_by": limit,
        "output": output.text(),
        "seconds": process.seconds,
    }


def _execute(command: str, memory: int) -> None:
    """Become a shell that runs a command, with the restrictions of programs."""
    try:
        os.dup2(1, 2)
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        restrict_system_calls()
        os.execve("/bin/sh", ["sh", "-c", command], os.environ)  # noqa: S606 - what a box is for
    except (OSError, ValueError) as error:
        os.write(1, f"the command cannot be run: {error}\n".encode(errors="backslashreplace"))
    finally:
        os._exit(126)


def enter(ends: list[int], files: tuple[int, ...], environment: Mapping[str, str]) -> None:
    """Make a fork a process of its own: files, environment, and nothing of the runner's.

    Args:
        ends: The files that it gets.
        files: Their descriptors in it.
        environment: Further variables.
    """
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    above = [fcntl.fcntl(end, fcntl.F_DUPFD, max(files) + 1) for end in ends]
    for source, place in zip(above, files, strict=True):
        os.dup2(source, place)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.closerange(max(files) + 1 if REPORT in files else REPORT, _FILES)
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    os.environ.clear()
    os.environ.update({**kept, **_ENVIRONMENT, **environment})
    # When memory runs out, the kernel shall kill this process before the runner.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def _waits() -> Iterator[tuple[str, float]]:
    """Yield each thread of the box, and for how many seconds it could have run and had no core.

    By the kernel's count; nothing where it keeps none. This process is left out.
    """
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError, IndexError):
            for thread in os.listdir(f"/proc/{process}/task") if process != "1" else ():
                with open(f"/proc/{process}/task/{thread}/schedstat") as file:
                    yield thread, int(file.read().split()[1]) / 1e9


def _used_cores() -> float:
    """Return for how many seconds cores have worked for this container; 0 where nobody counts."""
    for file, place, a_second in _CORE_COUNTERS:
        with contextlib.suppress(OSError), open(file) as opened:
            return int(opened.read().split()[place]) / a_second
    return 0.0


def oom_kills() -> int:
    """Return the number of this container's processes that the kernel has killed for memory."""
    for file in _OOM_COUNTERS:
        with contextlib.suppress(OSError), open(file) as opened:
            words = opened.read().split()
            return int(words[words.index("oom_kill") + 1])
    return 0


def read_report(data: bytes, token: bytes = b"") -> Report | None:
    """Return the report of ``child.py``'s guard; None where this is not one report, and whole.

    Args:
        data: What came.
        token: What the report of a harness begins with, and none that is forged.
    """
    size, _, rest = data.removeprefix(token).partition(b"\n")
    counts, newline, texts = rest.partition(b"\n")
    counts, equals, outcomes = counts.partition(b"=")
    is_whole = size == b"%d" % len(rest) and newline and equals
    numbers = counts.split()
    are_counts = len(numbers) == len(_COUNTS) and all(n.isdigit() and len(n) < 11 for n in numbers)
    if not (data.startswith(token) and is_whole and are_counts):
        return None
    report: Report = dict(zip(_COUNTS, map(int, numbers), strict=True))
    failed = texts.startswith(FAILED)
    fields = texts.removeprefix(FAILED).decode(errors="backslashreplace").split("\0")
    cases = _read_cases(outcomes.decode(errors="replace"), fields[len(FIELDS) * failed : -1])
    if max(report.values()) >= 2**31 or cases is None or fields[-1]:
        return None
    report["tests"] = cases
    if not failed:
        return None if b"-" in outcomes else {"outcome": "passed", **report}
    error = dict(zip(FIELDS, fields, strict=False))
    return {**error, **report} if len(fields) > len(FIELDS) and _is_within(FIELDS, error) else None


def _read_cases(outcomes: str, fields: list[str]) -> list[Report] | None:
    """Return the results of tests; None where they are not as the outcomes, ``+`` or ``-``, say."""
    names = {"+": ["name"], "-": list(CASE_FIELDS)}
    cases = []
    for outcome in outcomes:
        size = len(names.get(outcome, ()))
        case = dict(zip(names.get(outcome, ()), fields, strict=False))
        if not size or len(case) < size or not _is_within(CASE_FIELDS, case):
            return None
        cases.append({"outcome": "passed", **case})
        fields = fields[size:]
    return None if fields else cases


def _is_within(limits: dict[str, int], fields: dict[str, str]) -> bool:
    """Return True if no field is too long, and the outcome, where there is one, a failure's."""
    is_short = all(len(text) <= limits[name] for name, text in fields.items())
    return is_short and fields.get("outcome", _FAILURES[0]) in _FAILURES


def sockets_in_use() -> int:
    """Return the number of sockets in this network; 0 where the kernel does not tell."""
    with contextlib.suppress(OSError), open(_TABLE) as file:
        return int(file.readline().split()[2])
    return 0


def remove_all(sockets: int) -> bool:
    """Empty what programs can write to, and wait for the collector; return whether all is gone.

    Args:
        sockets: How many there were before.
    """
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
    return are_sockets_gone(sockets)


def _refuse(error: OSError) -> None:
    raise error


def are_sockets_gone(before: int) -> bool:
    """Wake the collector and wait for it; return whether no more sockets are left than before."""
    for _ in range(_TRIES):
        if sockets_in_use() <= before:
            return True
        _socket.socket(_socket.AF_UNIX).close()
        time.sleep(_WAIT_S)
    return False
