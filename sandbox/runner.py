"""The first process in a box: takes jobs from the host and runs each in a fresh interpreter.

Standard library only: its source, with that of ``harness.py``, is the container's command line.

The host speaks in frames over the attached stdin and stdout: four bytes of length, big-endian, then
JSON. A job holds ``code``, ``program``, ``hash_seed`` and the limits; the answer is a report in the
terms of ``ExecutionResult``, with ``clean`` telling whether the box may take another job.

Programs run under the same user, so this process is marked undumpable: they cannot open its
memory or its file descriptors through ``/proc``, and the kernel delivers no signal to the first
process of a container that it does not handle. Whatever a program started dies with it.
"""

import contextlib
import ctypes
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_SET_DUMPABLE = 4
_CHUNK = 65_536
_REPORT_BYTES = 262_144
PACKAGES = Path("/packages")
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - the only writable place in a box
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
_WRITABLE = ("/tmp", "/dev/shm")  # noqa: S108
_OOM_COUNTERS = (
    Path("/sys/fs/cgroup/memory.events"),
    Path("/sys/fs/cgroup/memory/memory.oom_control"),
)

Job = dict[str, Any]
Report = dict[str, Any]


class Stream:
    """What comes down one pipe of a child: counted in full, kept up to a limit."""

    def __init__(self, file: int, keep: int) -> None:
        self.file = file
        self.size = 0
        self.kept = bytearray()
        self._keep = keep
        os.set_blocking(file, False)

    def read(self) -> bool:
        """Take what is there; False at the end of the pipe."""
        try:
            data = os.read(self.file, _CHUNK)
        except BlockingIOError:
            return True
        self.size += len(data)
        self.kept += data[: max(0, self._keep - len(self.kept))]
        return bool(data)

    def drain(self) -> None:
        """Take the rest of a pipe whose writers are dead."""
        while self.read():
            pass
        os.close(self.file)

    def text(self) -> str:
        """Return what was kept as text, bytes that are none shown as escapes."""
        text = self.kept.decode(errors="backslashreplace")
        left_out = self.size - len(self.kept)
        return f"{text}\n… {left_out} more bytes" if left_out else text


class Child:
    """An interpreter that waits for its job."""

    def __init__(self, harness: str, hash_seed: int) -> None:
        self.hash_seed = hash_seed
        self.report, theirs = os.pipe()
        command = [sys.executable, "-P", "-s", "-u", "-c", harness, str(theirs)]
        environment = {**_ENVIRONMENT, "PYTHONHASHSEED": str(hash_seed)}
        if PACKAGES.is_dir():
            environment["PYTHONPATH"] = str(PACKAGES)
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and source
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(theirs,),
            env=environment,
            cwd="/tmp",  # noqa: S108
            start_new_session=True,
        )
        os.close(theirs)
        self.pid = self._process.pid
        with contextlib.suppress(OSError):  # the kernel shall take this one before the runner
            Path(f"/proc/{self.pid}/oom_score_adj").write_text("1000")

    def begin(self, job: Job) -> None:
        """Hand the job over."""
        assert self._process.stdin  # noqa: S101 - as opened above
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(job).encode())
            self._process.stdin.close()

    def discard(self) -> None:
        """End an interpreter that no job is for."""
        with self._process:
            self._process.kill()
        os.close(self.report)

    def streams(self, keep: int) -> tuple[Stream, Stream, Stream]:
        """Return stdout, stderr and the report's pipe."""
        assert self._process.stdout  # noqa: S101
        assert self._process.stderr  # noqa: S101
        out, err = os.dup(self._process.stdout.fileno()), os.dup(self._process.stderr.fileno())
        self._process.stdout.close()
        self._process.stderr.close()
        return Stream(out, keep), Stream(err, keep), Stream(self.report, _REPORT_BYTES)


class Run:
    """One job in one child, from its start to its report."""

    def __init__(self, child: Child, job: Job) -> None:
        self._child = child
        self._job = job
        self._secret = os.urandom(16).hex()
        self._streams = child.streams(job["keep"])
        self._kills_before = _oom_kills()
        self._status = 0
        self._peak_kb = 0

    def report(self) -> Report:
        """Let the program run, end everything it started, and say what happened."""
        begun = time.monotonic()
        handed = {key: self._job[key] for key in ("code", "program", "memory")}
        self._child.begin({**handed, "secret": self._secret})
        cut = self._watch(begun + self._job["timeout"])
        self._end()
        out, err, _ = self._streams
        return {
            **self._outcome(cut),
            "seconds": time.monotonic() - begun,
            "peak_memory_mb": self._peak_kb / 1024,
            "stdout": out.text(),
            "stderr": err.text(),
        }

    def _watch(self, deadline: float) -> str:
        """Read until the child is gone; return ``timeout`` or ``output_limit`` when it is cut."""
        out, err, report = self._streams
        with selectors.DefaultSelector() as selector:
            for stream in self._streams:
                selector.register(stream.file, selectors.EVENT_READ, stream)
            watcher = os.pidfd_open(self._child.pid)
            selector.register(watcher, selectors.EVENT_READ)
            try:
                while (left := deadline - time.monotonic()) > 0:
                    for key, _ in selector.select(left):
                        if key.fd == watcher:
                            return ""
                        if not key.data.read():
                            selector.unregister(key.fd)
                    if out.size + err.size > self._job["cut"] or report.size > _REPORT_BYTES:
                        return "output_limit"
            finally:
                os.close(watcher)
        return "timeout"

    def _end(self) -> None:
        """Kill all that runs beside this process, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, 0)
                if pid == self._child.pid:
                    self._status, self._peak_kb = status, usage.ru_maxrss
        for stream in self._streams:
            stream.drain()

    def _outcome(self, cut: str) -> Report:
        if cut:
            limit = f"{self._job['timeout']:g} s" if cut == "timeout" else "the limit of output"
            return {"outcome": cut, "message": f"the program was stopped at {limit}"}
        if _oom_kills() > self._kills_before:
            return {"outcome": "memory", "message": "the kernel stopped a process for memory"}
        code = os.waitstatus_to_exitcode(self._status)
        said = bytes(self._streams[2].kept)
        secret = self._secret.encode()
        if code == 0 and said.startswith(secret) and said.count(secret) == 1:
            return dict(json.loads(said[len(secret) :]))
        if code < 0:
            return {"outcome": "killed", "message": f"ended by {signal.Signals(-code).name}"}
        told = "with a forged report" if said else "without a report"
        return {"outcome": "killed", "message": f"exit code {code} {told}"}


def _oom_kills() -> int:
    for file in _OOM_COUNTERS:
        with contextlib.suppress(OSError):
            words = file.read_text().split()
            return int(words[words.index("oom_kill") + 1])
    return 0


def _clean_up() -> bool:
    """Empty what programs can write to; return whether that succeeded."""
    try:
        for folder in _WRITABLE:
            for entry in os.scandir(folder):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    Path(entry.path).unlink()
    except (OSError, RecursionError):
        return False
    return True


def _read(size: int) -> bytes:
    data = sys.stdin.buffer.read(size)
    if len(data) < size:
        sys.exit(0)  # the host has hung up
    return data


def _answer(report: Report) -> None:
    data = json.dumps(report).encode()
    sys.stdout.buffer.write(len(data).to_bytes(4, "big") + data)
    sys.stdout.buffer.flush()


def main() -> None:
    """Serve jobs until the host hangs up; a child is always started ahead."""
    harness = sys.argv[1]
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    spare = Child(harness, 0)
    _answer({"ready": True})
    while True:
        job: Job = json.loads(_read(int.from_bytes(_read(4), "big")))
        if job["hash_seed"] != spare.hash_seed:
            spare.discard()
            spare = Child(harness, job["hash_seed"])
        report = Run(spare, job).report()
        report["clean"] = _clean_up()
        _answer(report)
        spare = Child(harness, 0)


if __name__ == "__main__":
    main()
