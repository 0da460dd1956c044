"""The first process of an installing container: runs a command and watches how much it writes.

The container gets the text of this module. The variables come as one line of JSON on stdin; the
rest of stdin, and stdout, carry the tunnels of the command's connections, which it makes to a proxy
on loopback. What is printed goes to stderr. The container ends with this process, so that what
exceeds the limit is gone with it, and this process ends with its stdin.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator

from sandbox.inside.seccomp import call_prctl, restrict_system_calls
from sandbox.packages.tunnels import Tunnels

_MEGABYTE = 2**20
_SMALLEST = 4096  # bytes that a file or folder takes, however little is in it
_PAUSE_S = 0.05
_NO_NEW_PRIVILEGES = 38
_LOOKS = 10  # pauses between two looks at the folder, and so at least that share of time


def files_in(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield what is below a folder, with its state; what vanishes meanwhile is left out."""
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(top, name)  # noqa: PTH118 - plain names, a hundred thousand of them
            try:
                yield path, os.lstat(path)
            except FileNotFoundError:
                continue


def size_of(state: os.stat_result) -> int:
    """Return the bytes that a file or folder takes."""
    return max(state.st_blocks * 512, _SMALLEST)


def total(folder: str) -> int:
    """Return the bytes that a folder takes."""
    return sum(size_of(state) for _, state in files_in(folder))


def prune(cache: str, most: int) -> None:
    """Remove the files of a cache that were not used for longest, until it has ``most`` bytes."""
    files = [found for found in files_in(cache) if stat.S_ISREG(found[1].st_mode)]
    left = sum(size_of(state) for _, state in files)
    for path, state in sorted(files, key=lambda found: max(found[1].st_atime, found[1].st_mtime)):
        if left <= most:
            break
        with contextlib.suppress(FileNotFoundError):  # another container was first
            os.unlink(path)  # noqa: PTH108
        left -= size_of(state)


def watch(child: int, folders: "list[str]", most: int) -> int:
    """Wait for a process; return its exit status, or 1 where the folders get beyond ``most``."""
    looked, took = time.monotonic(), 0.0
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended or time.monotonic() - looked > _LOOKS * max(took, _PAUSE_S):
            looked = time.monotonic()
            if sum(map(total, folders)) > most:
                print(
                    f"limit: more than {most // _MEGABYTE} MB (sandbox.install_mb)", file=sys.stderr
                )
                if not ended:
                    os.kill(child, signal.SIGKILL)
                return 1
            took = time.monotonic() - looked
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_PAUSE_S)


def start(command: list[str], variables: dict[str, str]) -> int:
    """Start a command that knows these variables alone; return its process."""
    path = os.environ.get("PATH", os.defpath)  # an image may have its Python anywhere
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        os.execvpe(command[0], command, {"PATH": path, **variables})  # noqa: S606
    return child


def carry(listening: socket.socket) -> None:
    """Carry the connections to a port over stdin and stdout; end this process with its stdin."""

    def send(data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    async def carried() -> None:
        tunnels = Tunnels(lambda: os.read(0, 65_536), send, None)
        await asyncio.start_server(tunnels.carry, sock=listening)
        await tunnels.run()

    try:
        asyncio.run(carried())
    finally:
        os._exit(1)


def main() -> None:
    """Run the command of the arguments; exit with its status, or 1 at a limit."""
    limits = json.loads(sys.argv[1])
    variables = json.loads(sys.stdin.readline())
    call_prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)  # the kernel wants it before the filter
    restrict_system_calls()
    for cache in limits["caches"]:
        prune(cache, limits["most_cached_mb"] * _MEGABYTE)
    listening = socket.create_server(("127.0.0.1", 0))
    proxy = f"http://127.0.0.1:{listening.getsockname()[1]}"
    child = start(sys.argv[2:], {**variables, "http_proxy": proxy, "https_proxy": proxy})
    threading.Thread(target=carry, args=(listening,), daemon=True).start()
    status = abs(watch(child, limits["folders"], limits["most_mb"] * _MEGABYTE))
    sys.stderr.flush()
    os._exit(status)  # whatever the tunnels wait for
