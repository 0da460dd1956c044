"""The containers of one engine, started in advance, used once and removed in the background."""

import asyncio
import contextlib
import logging
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from docker.models.volumes import Volume

from infra.errors import SandboxError
from infra.identity import mark
from infra.settings import SandboxSettings
from sandbox.backends.docker.engine import Engine, Running
from sandbox.machine_slots import MachineSlots, Slot

_log = logging.getLogger(__name__)

Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")


class ContainerPool:
    """Gives out containers with waiting runners, while the next ones are started.

    Back-pressure comes from capacity: a container takes of it from before it is started until after
    it is removed, so that slow removals hold up starts, and nothing piles up. It belongs to the
    event loop that it is first used in.

    Args:
        settings: How many boxes may be in use at once on this machine, and how many containers may
            wait.
        connect: Connects to the engine, at the first use.
    """

    def __init__(
        self,
        settings: SandboxSettings,
        connect: Callable[[SandboxSettings], Engine] = Engine.connect,
    ) -> None:
        self.settings = settings
        self._connect = connect
        self._connecting: asyncio.Task[Engine] | None = None
        capacity = settings.machine_slots + settings.ready
        self._capacity = asyncio.Semaphore(capacity)
        self._workers = ThreadPoolExecutor(2 * capacity, thread_name_prefix="sandbox")
        engine = mark("engine", os.environ.get("DOCKER_HOST", ""))
        self.slots = MachineSlots(f"{engine}-in-use", settings.machine_slots)
        self._waiting = MachineSlots(f"{engine}-ready", settings.ready)
        self._is_open = True
        self._prepared: deque[tuple[asyncio.Task[Running], Slot]] = deque()
        self._starts: set[asyncio.Task[Running]] = set()
        self._removals: set[asyncio.Task[None]] = set()

    async def engine(self) -> Engine:
        """Return the engine; the first call connects and removes containers of ended processes."""
        connecting = self._connecting
        if connecting is None or (connecting.done() and connecting.exception()):
            connecting = asyncio.create_task(self.call(self._connect, self.settings))
            self._connecting = connecting
        return await asyncio.shield(connecting)

    async def call(
        self,
        function: Callable[Parameters, Value],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Value:
        """Run a blocking call in a worker thread of this pool's own."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._workers, lambda: function(*args, **kwargs))

    async def acquire(self, volume: Volume | None = None, language: str = "python") -> Running:
        """Return a waiting runner: one started in advance, or a new one that has the volume.

        Those of other languages than Python are not started in advance.

        Raises:
            SandboxError: It could not be started. Errors of those started in advance are ignored.
        """
        if volume or language != "python":
            return await self._claim(self._start(volume, language))
        while self._prepared:
            start, slot = self._prepared.popleft()
            slot.release()
            try:
                running = await self._claim(start)
            except SandboxError:
                continue
            if running.is_alive():
                self._refill()
                return running
            self.discard(running)
        start = self._start()
        self._refill()
        return await self._claim(start)

    def discard(self, running: Running) -> asyncio.Task[None]:
        """Disconnect from a runner and remove its container in the background.

        The task ends when it is gone, and raises nothing.
        """
        running.channel.close()
        removal = asyncio.create_task(self._stop(running))
        self._removals.add(removal)
        removal.add_done_callback(self._removals.discard)
        return removal

    async def close(self) -> None:
        """Remove all containers and close the connections to the engine."""
        self._is_open = False
        while self._prepared or self._starts or self._removals:
            starts = [start for start, _ in self._prepared]
            for _, slot in self._prepared:
                slot.release()
            self._prepared.clear()
            for start in starts:
                start.add_done_callback(self._discard_when_started)
            await asyncio.wait({*starts, *self._starts, *self._removals})
            await asyncio.sleep(0)  # the callbacks above add their removals
        connecting, self._connecting = self._connecting, None
        if connecting is not None:
            with contextlib.suppress(SandboxError):  # the next start removes what is left
                engine = await connecting
                try:
                    await self.call(engine.owned.remove_own)
                finally:
                    engine.close()
        self._workers.shutdown(wait=False)

    def _refill(self) -> None:
        while self._is_open and (slot := self._waiting.try_acquire()) is not None:
            self._prepared.append((self._start(), slot))

    def _start(
        self, volume: Volume | None = None, language: str = "python"
    ) -> asyncio.Task[Running]:
        start = asyncio.create_task(self._start_within_capacity(volume, language))
        self._starts.add(start)
        start.add_done_callback(self._starts.discard)
        return start

    async def _claim(self, start: asyncio.Task[Running]) -> Running:
        """Wait for a container; one whose claimant was cancelled is removed when it is started."""
        try:
            return await asyncio.shield(start)
        except asyncio.CancelledError:
            start.add_done_callback(self._discard_when_started)
            raise

    def _discard_when_started(self, started: asyncio.Task[Running]) -> None:
        if not started.cancelled() and started.exception() is None:
            self.discard(started.result())

    async def _start_within_capacity(self, volume: Volume | None, language: str) -> Running:
        await self._capacity.acquire()
        try:
            engine = await self.engine()
            return await self.call(engine.start, volume, language)
        except BaseException:
            self._capacity.release()
            raise

    async def _stop(self, running: Running) -> None:
        try:
            engine = await self.engine()
            await self.call(engine.stop, running)
        except SandboxError as error:
            _log.warning("a box could not be removed now; it is removed at the end: %s", str(error))
        finally:
            self._capacity.release()
