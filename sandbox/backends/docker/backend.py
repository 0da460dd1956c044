"""Boxes as Docker containers, started in advance and removed after one burst of runs."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import ParamSpec, TypeVar

from docker.models.volumes import Volume

from infra.errors import SandboxError
from infra.identity import mark
from infra.settings import SandboxSettings
from sandbox.backends import backends
from sandbox.backends.docker.box import DockerBox
from sandbox.backends.docker.engine import Engine, Running
from sandbox.backends.docker.pool import Pool
from sandbox.backends.docker.users import MOST
from sandbox.base import Box
from sandbox.machine_slots import MachineSlots

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")


@backends.register("docker")
class DockerSandbox:
    """Boxes on the Docker engine that the environment names (``DOCKER_HOST``, or the local one).

    It belongs to the event loop that it is first used in.

    Args:
        settings: Image, limits, how many boxes may be in use at once on this machine (more wait
            their turn) and how many are started in advance.
    """

    def __init__(self, settings: SandboxSettings) -> None:
        self.settings = settings
        capacity = settings.machine_slots + settings.ready
        engine = mark("engine", os.environ.get("DOCKER_HOST", ""))
        self.slots = MachineSlots(f"{engine}-in-use", settings.machine_slots)
        ready = MachineSlots(f"{engine}-ready", settings.ready)
        self._users = MachineSlots("users", MOST)  # one kernel counts, whatever engine is asked
        self._workers = ThreadPoolExecutor(2 * capacity, thread_name_prefix="sandbox")
        self._connecting: asyncio.Task[Engine] | None = None
        self._boxes: set[DockerBox] = set()
        self._pool = Pool(
            self._make, self._unmake, Running.is_alive, reserve=ready.try_take, capacity=capacity
        )

    async def check(self) -> str:
        """Return engine and image; see ``Sandbox.check``."""
        engine = await self.engine()
        return await self.call(engine.describe)

    async def identity(self) -> str:
        """Return the identity of the engine; see ``Identified``."""
        engine = await self.engine()
        return await self.call(engine.identity)

    @asynccontextmanager
    async def box(
        self, code: str, *, bare: bool = False, language: str = "python"
    ) -> AsyncIterator[Box]:
        """Yield a fresh box; see ``Sandbox.box``."""
        box = DockerBox(self, code, bare=bare, language=language)
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
        await self._pool.close()
        connecting, self._connecting = self._connecting, None
        if connecting is not None:
            with contextlib.suppress(SandboxError):  # the next start removes what is left
                engine = await connecting
                try:
                    await self.call(engine.clear)
                finally:
                    engine.close()
        self._workers.shutdown(wait=False)

    async def clean(self, *, everything: bool) -> int:
        """Remove what other processes left; see ``Cleanable.clean``."""
        engine = await self.call(Engine, self.settings)
        try:
            return await self.call(engine.remove_everything if everything else engine.sweep)
        finally:
            engine.close()

    async def engine(self) -> Engine:
        """Return the engine; the first call connects and removes containers of ended processes."""
        connecting = self._connecting
        if connecting is None or (connecting.done() and connecting.exception()):
            connecting = asyncio.create_task(self.call(Engine.connected, self.settings))
            self._connecting = connecting
        return await asyncio.shield(connecting)

    async def start(self, volume: Volume | None, language: str) -> Running:
        """Return a waiting runner: one started in advance, or a new one that has the volume.

        Those of other languages than Python are not started in advance.
        """
        if volume is None and language == "python":
            return await self._pool.take()
        return await self._pool.make(partial(self._make, volume, language))

    def discard(self, running: Running) -> asyncio.Task[None]:
        """Disconnect from a runner and remove its container in the background."""
        running.channel.close()
        return self._pool.discard(running)

    async def remove_volume(self, volume: Volume) -> None:
        """Remove the packages installed for a box; where that fails, the next start does."""
        engine = await self.engine()
        with contextlib.suppress(SandboxError):
            await self.call(engine.remove, volume)

    async def call(
        self,
        function: Callable[Parameters, Value],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Value:
        """Run a blocking call in a worker thread of this sandbox's own."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._workers, lambda: function(*args, **kwargs))

    async def _make(self, volume: Volume | None = None, language: str = "python") -> Running:
        engine = await self.engine()
        user = await self._users.take()
        try:
            return await self.call(engine.start, volume, user, language)
        except BaseException:
            user.release()
            raise

    async def _unmake(self, running: Running) -> None:
        engine = await self.engine()
        try:
            await self.call(engine.stop, running)
        finally:
            if running.user:
                running.user.release()
