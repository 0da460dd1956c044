"""Boxes as Docker containers: started in advance, taken for bursts of runs, and then removed."""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from docker.models.volumes import Volume

from infra.errors import BoxLostError, SandboxError
from infra.records import ExecutionResult
from infra.settings import SandboxSettings
from sandbox.backends import backends
from sandbox.backends.docker import wheels
from sandbox.backends.docker.engine import Engine, Running
from sandbox.backends.docker.jobs import Job, Jobs, read_result, read_shell_result
from sandbox.backends.docker.pool import ContainerPool
from sandbox.base import CLOCK, Box, InstallResult, Isolation, ShellResult
from sandbox.machine_slots import Slot
from sandbox.shell import shell

_GRACE_S = 10.0
_OUT_OF_MEMORY = "the container ran out of memory"
_TRIES = 2  # a box that was lost from outside is made again once

Value = TypeVar("Value")
Answer = Mapping[str, object]


@backends.register("docker")
class DockerSandbox:
    """Boxes on the Docker engine that the environment names (``DOCKER_HOST``, or the local one).

    It belongs to the event loop that it is first used in.

    Args:
        settings: Image, limits, how many boxes may be in use at once on this machine (more wait
            their turn) and how many are started in advance.
    """

    def __init__(self, settings: SandboxSettings) -> None:
        self.pool = ContainerPool(settings)
        self._boxes: set[DockerBox] = set()

    async def check(self) -> str:
        """Return engine and image; see ``Sandbox.check``."""
        engine = await self.pool.engine()
        return await self.pool.call(engine.describe)

    async def identity(self) -> str:
        """Return the identity of the engine; see ``Identified``."""
        engine = await self.pool.engine()
        return await self.pool.call(engine.identity)

    @asynccontextmanager
    async def box(
        self, code: str, *, bare: bool = False, language: str = "python"
    ) -> AsyncIterator[Box]:
        """Yield a fresh box; see ``Sandbox.box``."""
        box = DockerBox(self.pool, code, bare=bare, language=language)
        self._boxes.add(box)
        try:
            yield box
        finally:
            self._boxes.discard(box)
            await asyncio.shield(box.remove())

    async def close(self) -> None:
        """Remove every box that is still there and close the connections to the engine."""
        for box in list(self._boxes):
            await box.remove()
        await self.pool.close()

    async def clean(self, *, everything: bool) -> int:
        """Remove what other processes left; see ``Cleanable.clean``."""
        engine = await self.pool.call(Engine, self.pool.settings)
        remove = engine.remove_everything if everything else engine.owned.remove_left_over
        try:
            return await self.pool.call(remove)
        finally:
            engine.close()


class DockerBox:
    """A place and a container for one pair's runs, both taken at the first of a burst.

    The container is made again when a program has left it unclean. What commands have done is done
    again before each run, and packages are on a volume: between runs no container is needed.
    """

    def __init__(
        self, pool: ContainerPool, code: str, *, bare: bool, language: str = "python"
    ) -> None:
        self._pool = pool
        self._settings = pool.settings
        self._jobs = Jobs(pool.settings, code, bare=bare, language=language)
        self._language = language
        self._running: Running | None = None
        self._volume: Volume | None = None
        self._installed_bytes = 0
        self._removals: list[asyncio.Task[None]] = []
        self._slot: Slot | None = None

    async def install(self, requirements: Sequence[str]) -> InstallResult:
        """Install distributions; see ``Box.install``."""
        if not self._settings.allow_install:
            return InstallResult(ok=False, message="installing is off (sandbox.allow_install)")
        if self._language != "python":
            return InstallResult(ok=False, message=f"nothing is installed for {self._language}")
        if invalid := wheels.invalid_requirements(requirements):
            return InstallResult(ok=False, message=f"not a requirement: {', '.join(invalid)}")
        if not requirements:
            return InstallResult(ok=True)
        started = time.monotonic()
        result = await self._install(requirements)
        return result.model_copy(update={"seconds": time.monotonic() - started})

    async def _install(self, requirements: Sequence[str]) -> InstallResult:
        limit, started = self._settings.install_timeout_s, time.monotonic()
        self._slot = self._slot or await self._pool.slots.acquire()
        engine = await self._pool.engine()
        platform = await self._pool.call(engine.installers.platform)
        with tempfile.TemporaryFile() as archive:
            fetched = await wheels.fetch(
                requirements, platform, self._settings, archive, self._installed_bytes
            )
            if not fetched.result.ok:
                return fetched.result
            if self._volume is None:
                self._volume = await self._pool.call(engine.make_volume)
            self._installed_bytes += fetched.size
            installer = await self._pool.call(engine.installers.make, self._volume, archive)
            try:
                left = max(1.0, started + limit - time.monotonic())
                done = await self._pool.call(engine.installers.run, installer, left)
            finally:
                await asyncio.shield(self._pool.call(engine.owned.remove, installer))
        self._drop()  # the next run starts a container that has the packages
        return fetched.result if done.ok else done

    async def run(
        self,
        program: str,
        *,
        hash_seed: int = 0,
        clock: float = CLOCK,
        code: str | None = None,
        timeout_s: float | None = None,
        isolated: Isolation = False,
    ) -> ExecutionResult:
        """Run a test program; see ``Box.run``.

        A program leaves nothing behind but its result, so one whose container was lost (removed
        from outside, the engine restarted) is run once more in a new one.
        """
        job = self._jobs.program(
            program,
            hash_seed=hash_seed,
            clock=clock,
            code=code,
            timeout_s=timeout_s,
            isolated=isolated,
        )
        out_of_memory = ExecutionResult(outcome="memory", message=_OUT_OF_MEMORY)
        return await self._ask(job, read_result, out_of_memory)

    async def shell(self, line: str) -> ShellResult:
        """Run a line of commands; see ``Box.shell``."""
        return await shell(self, line)

    async def execute(self, command: str) -> ShellResult:
        """Run a command without a network; see ``Terminal.execute``."""
        out_of_memory = ShellResult(status=None, output=_OUT_OF_MEMORY)
        result = await self._ask(self._jobs.command(command), read_shell_result, out_of_memory)
        self._jobs.repeat(command, result)
        return result

    def export(self, name: str, value: str) -> None:
        """Set a variable; see ``Terminal.export``."""
        self._jobs.export(name, value)

    async def release(self) -> None:
        """Free container and place; packages and what commands left stay; see ``Box.release``."""
        self._drop()
        slot, self._slot = self._slot, None
        if slot is not None:
            slot.release()

    async def remove(self) -> None:
        """Remove the container in the background; wait only where packages were installed."""
        await self.release()
        volume, self._volume = self._volume, None
        if volume is not None:
            await asyncio.gather(*self._removals)
            engine = await self._pool.engine()
            with contextlib.suppress(SandboxError):  # the next start removes it
                await self._pool.call(engine.owned.remove, volume)

    async def _ask(self, job: Job, read: Callable[[Answer], Value], out_of_memory: Value) -> Value:
        """Return the result of a job, done once more in a new container where the first was lost.

        It is ``out_of_memory`` where the container's memory did not suffice.
        """
        for _ in range(_TRIES - 1):
            with contextlib.suppress(BoxLostError):
                return await self._try(job, read, out_of_memory)
        return await self._try(job, read, out_of_memory)

    async def _try(self, job: Job, read: Callable[[Answer], Value], out_of_memory: Value) -> Value:
        self._slot = self._slot or await self._pool.slots.acquire()
        self._running = self._running or await self._pool.acquire(self._volume, self._language)
        running, timeout_s = self._running, self._jobs.longest_s() + _GRACE_S
        try:
            answer = await self._pool.call(running.channel.ask, job, timeout_s)
        except BoxLostError:
            engine = await self._pool.engine()
            try:
                ended_by_memory = await self._pool.call(engine.was_out_of_memory, running.container)
            finally:
                self._drop()
            if not ended_by_memory:
                raise
            return out_of_memory
        answer.pop("clean", None)
        is_clean = running.channel.is_clean
        try:
            return read(answer)
        except BoxLostError:
            is_clean = False
            raise
        finally:
            if not is_clean:
                self._drop()

    def _drop(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            self._removals.append(self._pool.discard(running))
