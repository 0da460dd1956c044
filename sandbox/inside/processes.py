"""Processes of the runner: each is watched to its end, with all that it started."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import selectors
import signal
import time
from collections.abc import Iterator, Mapping

from sandbox.inside.child import REPORT, package_folders
from sandbox.inside.seccomp import restrict_system_calls
from sandbox.inside.streams import Stream

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

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from sandbox.inside import Job, Report


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
        self._end()
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

    def _end(self) -> None:
        """Kill all other processes of the box, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, 0)
                if pid == self._child:
                    self._status, self.peak_kb = status, usage.ru_maxrss
        for stream in self.streams:
            stream.drain()


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
