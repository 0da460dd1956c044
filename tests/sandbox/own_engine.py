"""A Docker engine of a test's own, to be killed, filled and started again; and a line to cut."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

_START_S = 180


def whats_missing() -> str:
    """Return what an own engine lacks here, "" for nothing."""
    if os.geteuid() != 0:
        return "only root can start an engine"
    tools = ("dockerd", "containerd", "unshare")
    return ", ".join(f"{tool} is not installed" for tool in tools if not shutil.which(tool))


class OwnEngine:
    """A ``dockerd`` with its socket and its data in a small file system of memory.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._containerd: subprocess.Popen[bytes] | None = None
        self.data = folder / "data"
        self.address = f"unix://{folder}/docker.sock"
        self.data.mkdir()

    def start(self) -> None:
        """Start it, unless it runs, and wait until it answers; ``containerd`` outlives it."""
        if self._process is not None and self._process.poll() is None:
            return
        if self._containerd is None:
            self._containerd = self._spawn(
                "containerd", "--config", os.devnull,
                "--address", f"{self._folder}/containerd.sock",
                "--root", f"{self._folder}/root", "--state", f"{self._folder}/state",
            )  # fmt: skip
        (self._folder / "pid").unlink(missing_ok=True)
        self._process = self._spawn(
            "unshare", "--net",  # or it would remove the other engine's bridge
            "dockerd", "--host", self.address, "--data-root", str(self.data),
            "--exec-root", f"{self._folder}/run", "--pidfile", f"{self._folder}/pid",
            "--containerd", f"{self._folder}/containerd.sock",
            "--bridge", "none", "--iptables=false", "--ip6tables=false",
        )  # fmt: skip
        deadline = time.monotonic() + _START_S
        while self.docker("version").returncode != 0:
            assert time.monotonic() < deadline, (self._folder / "log").read_text()[-2000:]
            time.sleep(0.1)

    def _spawn(self, *command: str) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        """End it as a crash would; its containers are not asked."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End it, and all that it started."""
        if left := self.docker("ps", "--all", "--quiet").stdout.split():
            self.docker("rm", "--force", *left)
        for process in (self._process, self._containerd):
            if process is not None:
                process.terminate()
                process.wait(150)

    def docker(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the client on it."""
        command = ["docker", "--host", self.address, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def load(self, image: str) -> None:
        """Copy an image from the machine's engine."""
        with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as saving:
            command = ["docker", "--host", self.address, "load", "--quiet"]
            subprocess.run(command, stdin=saving.stdout, check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def own_engine(folder: Path, image: str, megabytes: int) -> Iterator[OwnEngine]:
    """Yield a running engine that has the image; nothing is left of it afterwards."""
    size = f"size={megabytes}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "engine", str(folder)], check=True)
    engine = OwnEngine(folder)
    try:
        engine.start()
        engine.load(image)
        yield engine
    finally:
        engine.stop()
        with contextlib.suppress(subprocess.CalledProcessError):
            mounts = Path("/proc/mounts").read_text().splitlines()
            inside = [line.split()[1] for line in mounts if f" {folder}" in line]
            for point in sorted(inside, reverse=True):
                subprocess.run(["umount", "--lazy", point], check=True)


class Line:
    """A socket that passes everything on to the engine, until it is cut."""

    def __init__(self, file: Path, engine: str) -> None:
        self.address = f"unix://{file}"
        self._file = file
        self._engine = engine
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def open(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_unix_server(self._serve, self._file)

    def cut(self) -> None:
        """Cut all connections that stand; new ones are let through."""
        for writer in self._writers:
            writer.transport.abort()

    async def close(self) -> None:
        """Stop listening and cut."""
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.sleep(0.1)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_unix_connection(self._engine)
        both = {writer, ours}
        self._writers |= both
        await asyncio.gather(_pump(reader, ours), _pump(theirs, writer))
        self._writers -= both
        for each in both:
            each.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
