"""Boxes as Docker containers: the only file that knows Docker.

What a box keeps out: the network, the host's files, users and privileges, more memory, processes,
time and disk than its limits. What it does not: a hole in the kernel (set ``sandbox.runtime`` to
gVisor's ``runsc`` or Kata for that) and a program that uses up its own limits for nothing.
"""

import asyncio
import contextlib
import io
import os
import tarfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.models.volumes import Volume
from docker.types import LogConfig, Ulimit

from infra.errors import BoxLostError, EngineUnavailableError, ImageMissingError, SandboxError
from infra.records import ExecutionResult
from infra.settings import SandboxSettings
from sandbox import installing, payload
from sandbox.base import Box, InstallResult
from sandbox.channel import Channel
from sandbox.owner import is_left_over, this_owner
from sandbox.registry import backends

_LABEL = "cosqa.sandbox"
_OWNER = "cosqa.owner"
_WHEEL_CACHE = "cosqa-wheels"
_WAY_OUT = "Run infra/docker/ensure_engine.sh (or: make engine)."
_MEGABYTE = 2**20
_ENGINE_TIMEOUT_S = 60
_START_TIMEOUT_S = 30.0
_GRACE_S = 10.0
_OUTPUT_FACTOR = 16  # a program is stopped at this many times the output that is kept
_RUNNER_MEMORY_MB = 24  # set aside for the runner, so that programs meet their limit first

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")
Running = tuple[Container, Channel]


@contextmanager
def _translated() -> Iterator[None]:
    """Turn Docker's errors into this project's."""
    try:
        yield
    except ImageNotFound as error:
        raise ImageMissingError(f"the sandbox image is missing: {error}. {_WAY_OUT}") from error
    except NotFound as error:
        raise BoxLostError(f"the box is gone: {error}") from error
    except APIError as error:
        raise SandboxError(f"the Docker engine refused: {error}") from error
    except (DockerException, requests.RequestException, OSError) as error:
        raise EngineUnavailableError(f"no Docker engine answers: {error}. {_WAY_OUT}") from error


class Engine:
    """The Docker engine, in blocking calls: makes and removes what boxes are made of."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._labels = {_LABEL: "1", _OWNER: this_owner()}
        with _translated():
            self._client = docker.from_env(
                timeout=_ENGINE_TIMEOUT_S, max_pool_size=settings.slots + 2
            )

    def describe(self) -> str:
        """Return engine and image; see ``Sandbox.check`` for the errors."""
        with _translated():
            version = self._client.version()["Version"]
            image = self._client.images.get(self._settings.image)
        runtime = f", runtime {self._settings.runtime}" if self._settings.runtime else ""
        return f"Docker {version}{runtime}, image {self._settings.image} {image.id}"

    def start(self, packages: Volume | None) -> Running:
        """Start a container with a waiting runner, cut off from everything."""
        mounts = {packages.name: {"bind": installing.PACKAGES, "mode": "ro"}} if packages else {}
        container = self._create(
            payload.command(),
            environment={"PYTHONHASHSEED": "0"},
            volumes=mounts,
            network_mode="none",
            stdin_open=True,
            log_config=LogConfig(type=LogConfig.types.NONE),
        )
        try:
            with _translated():
                channel = self._attach(container)
        except BaseException:
            self.remove(container)
            raise
        try:
            with _translated():
                container.start()
                channel.receive(_START_TIMEOUT_S)
        except BaseException:
            self.stop((container, channel))
            raise
        return container, channel

    def stop(self, running: Running) -> None:
        """Hang up on a runner and remove its container."""
        container, channel = running
        channel.close()
        self.remove(container)

    def make_installer(self, packages: Volume, requirements: Sequence[str]) -> Container:
        """Make a container that will run pip, with a network and the volume writable."""
        pip_settings = installing.host_pip_settings()
        certificates = installing.host_certificates(pip_settings, os.environ)
        container = self._create(
            installing.command(requirements),
            volumes={
                packages.name: {"bind": installing.PACKAGES, "mode": "rw"},
                _WHEEL_CACHE: {"bind": installing.WHEELS, "mode": "rw"},
            },
            environment=installing.environment(
                pip_settings, os.environ, certificates=certificates is not None
            ),
        )
        if certificates is not None:
            with _translated():
                container.put_archive(installing.PACKAGES, _certificate_archive(certificates))
        return container

    def install(self, installer: Container) -> InstallResult:
        """Let pip run to its end, or to the time limit."""
        limit = self._settings.install_timeout_s
        begun = time.monotonic()
        with _translated():
            installer.start()
            try:
                status = installer.wait(timeout=limit)["StatusCode"]
            except (requests.Timeout, requests.ConnectionError):  # what docker-py raises at the end
                if time.monotonic() - begun < limit:
                    raise
                return InstallResult(ok=False, message=f"pip took over {limit:g} s", seconds=limit)
            output = installer.logs(tail=200).decode(errors="replace")
        return installing.outcome(status, output, time.monotonic() - begun)

    def make_volume(self) -> Volume:
        """Make a volume for the packages of one box."""
        with _translated():
            return self._client.volumes.create(labels=self._labels)

    def was_out_of_memory(self, container: Container) -> bool:
        """Return whether the kernel ended the container for memory."""
        with _translated():
            container.reload()
        return bool(container.attrs["State"]["OOMKilled"])

    def remove(self, container: Container) -> None:
        """Kill and remove a container, whatever its state; one that is gone is fine."""
        with _translated(), contextlib.suppress(NotFound):
            try:
                container.remove(force=True, v=True)
            except APIError as error:
                if error.status_code != requests.codes.conflict:  # its removal is under way
                    raise

    def remove_volume(self, volume: Volume) -> None:
        """Remove a volume; one that is gone is fine."""
        with _translated(), contextlib.suppress(NotFound):
            volume.remove(force=True)

    def sweep(self) -> int:
        """Remove what processes of this host that are dead have left; return how much."""
        filters: dict[str, str | list[str] | bool] = {"label": f"{_LABEL}=1"}
        with _translated():
            containers = [
                container
                for container in self._client.containers.list(
                    all=True, filters=filters, ignore_removed=True
                )
                if is_left_over(container.labels.get(_OWNER, ""))
            ]
            volumes = [
                volume
                for volume in self._client.volumes.list(filters=filters)
                if is_left_over((volume.attrs.get("Labels") or {}).get(_OWNER, ""))
            ]
        for container in containers:
            self.remove(container)
        for volume in volumes:
            self.remove_volume(volume)
        return len(containers) + len(volumes)

    def close(self) -> None:
        """Close the connections to the engine."""
        self._client.close()

    def _create(self, command: Sequence[str], **options: Any) -> Container:  # noqa: ANN401 - docker-py's
        limits = self._settings
        megabytes = f"{limits.tmp_mb}m,nr_inodes={64 * limits.tmp_mb},mode=1777"
        with _translated():
            return self._client.containers.create(
                limits.image,
                list(command),
                labels=self._labels,
                hostname="box",
                user="10001:10001",
                working_dir="/tmp",  # noqa: S108 - inside the box
                read_only=True,
                tmpfs={"/tmp": f"size={megabytes}"},  # noqa: S108
                shm_size=8 * _MEGABYTE,
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                pids_limit=limits.processes,
                mem_limit=limits.memory_mb * _MEGABYTE,
                memswap_limit=limits.memory_mb * _MEGABYTE,
                nano_cpus=int(limits.cpus * 1e9),
                ulimits=_ulimits(limits),
                runtime=limits.runtime,
                **options,
            )

    def _attach(self, container: Container) -> Channel:
        parameters = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        attached = self._client.api.attach_socket(str(container.id), params=parameters)
        return Channel(getattr(attached, "_sock", attached), attached)


def _ulimits(limits: SandboxSettings) -> list[Ulimit]:
    values = {"fsize": limits.tmp_mb * _MEGABYTE, "nofile": 256, "core": 0, "msgqueue": 0}
    return [Ulimit(name=name, soft=value, hard=value) for name, value in values.items()]


def _certificate_archive(file: Path) -> bytes:
    content = file.read_bytes()
    entry = tarfile.TarInfo(installing.CERTIFICATES)
    entry.size, entry.mode = len(content), 0o444
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


class DockerBox:
    """A container for one pair; made again when a program has spoilt it."""

    def __init__(self, sandbox: "DockerSandbox", code: str) -> None:
        self._sandbox = sandbox
        self._settings = sandbox.settings
        self._code = code
        self._running: Running | None = None
        self._packages: Volume | None = None

    async def install(self, requirements: Sequence[str]) -> InstallResult:
        """Install distributions; see ``Box.install``."""
        if not self._settings.allow_install:
            return InstallResult(ok=False, message="installing is off (sandbox.allow_install)")
        if unfit := installing.malformed(requirements):
            return InstallResult(ok=False, message=f"not a requirement: {', '.join(unfit)}")
        if not requirements:
            return InstallResult(ok=True)
        engine = await self._sandbox.engine()
        if self._packages is None:
            self._packages = await self._sandbox.acquire(
                engine.make_volume, undo=engine.remove_volume
            )
        make = partial(engine.make_installer, self._packages, requirements)
        installer = await self._sandbox.acquire(make, undo=engine.remove)
        try:
            result = await self._sandbox.call(engine.install, installer)
        finally:
            await asyncio.shield(self._sandbox.call(engine.remove, installer))
        await self._drop()  # the next run starts a container that has the packages
        return result

    async def run(self, program: str, *, hash_seed: int = 0) -> ExecutionResult:
        """Run a test program; see ``Box.run``."""
        container, channel = await self._ready()
        limits = self._settings
        keep = limits.output_kb * 1024
        job = {
            "code": self._code,
            "program": program,
            "hash_seed": hash_seed,
            "timeout": limits.timeout_s,
            "keep": keep,
            "cut": _OUTPUT_FACTOR * keep,
            "memory": (limits.memory_mb - _RUNNER_MEMORY_MB) * _MEGABYTE,
        }
        try:
            answer = await self._sandbox.call(channel.ask, job, limits.timeout_s + _GRACE_S)
        except BoxLostError:
            if not await self._lost_to_memory(container):
                raise
            message = "the kernel stopped the box for memory"
            return ExecutionResult(outcome="memory", message=message)
        if not answer.pop("clean", False):
            await self._drop()
        return ExecutionResult.model_validate(answer)

    async def remove(self) -> None:
        """Remove the container and what was installed."""
        try:
            await self._drop()
        finally:
            packages, self._packages = self._packages, None
            if packages is not None:
                engine = await self._sandbox.engine()
                await self._sandbox.call(engine.remove_volume, packages)

    async def _ready(self) -> Running:
        if self._running is None:
            engine = await self._sandbox.engine()
            start = partial(engine.start, self._packages)
            self._running = await self._sandbox.acquire(start, undo=engine.stop)
        return self._running

    async def _drop(self) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        engine = await self._sandbox.engine()
        await self._sandbox.call(engine.stop, running)

    async def _lost_to_memory(self, container: Container) -> bool:
        engine = await self._sandbox.engine()
        try:
            return await self._sandbox.call(engine.was_out_of_memory, container)
        finally:
            await self._drop()


@backends.register("docker")
class DockerSandbox:
    """Boxes on the Docker engine that the environment names (``DOCKER_HOST``, or the local one).

    Args:
        settings: Image, limits and how many boxes may be open at once; more wait their turn.
    """

    def __init__(self, settings: SandboxSettings) -> None:
        self.settings = settings
        self._slots = asyncio.Semaphore(settings.slots)
        self._workers = ThreadPoolExecutor(settings.slots + 2, thread_name_prefix="sandbox")
        self._engine: Engine | None = None
        self._opening = asyncio.Lock()
        self._boxes: set[DockerBox] = set()

    async def check(self) -> str:
        """Return engine and image; see ``Sandbox.check``."""
        engine = await self.engine()
        return await self.call(engine.describe)

    def box(self, code: str) -> AbstractAsyncContextManager[Box]:
        """Return a fresh box; see ``Sandbox.box``."""
        return self._box(code)

    async def close(self) -> None:
        """Remove every box that is still there and let go of the engine."""
        for box in list(self._boxes):
            await box.remove()
        if self._engine is not None:
            self._engine.close()
            self._engine = None
        self._workers.shutdown(wait=False)

    async def engine(self) -> Engine:
        """Return the engine, connected on first use, when leftovers of the dead are removed."""
        async with self._opening:
            if self._engine is None:
                engine = await self.call(Engine, self.settings)
                await self.call(engine.sweep)
                self._engine = engine
            return self._engine

    async def call(
        self,
        function: Callable[Parameters, Value],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Value:
        """Run a blocking call in a worker thread of this sandbox's own."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._workers, lambda: function(*args, **kwargs))

    async def acquire(self, make: Callable[[], Value], *, undo: Callable[[Value], None]) -> Value:
        """Run a blocking call that makes something; undo it when the caller is cancelled."""
        making = asyncio.ensure_future(self.call(make))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            with contextlib.suppress(SandboxError):
                await self.call(undo, await making)
            raise

    @asynccontextmanager
    async def _box(self, code: str) -> AsyncIterator[Box]:
        async with self._slots:
            box = DockerBox(self, code)
            self._boxes.add(box)
            try:
                yield box
            finally:
                self._boxes.discard(box)
                await asyncio.shield(box.remove())
