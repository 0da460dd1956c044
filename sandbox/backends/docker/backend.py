"""Boxes as Docker containers, started in advance and removed after one burst of runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from infra.settings import SandboxSettings
from sandbox.backends import backends
from sandbox.backends.docker.box import DockerBox
from sandbox.backends.docker.engine import Engine
from sandbox.backends.docker.pool import ContainerPool
from sandbox.base import Box


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
