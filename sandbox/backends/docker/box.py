"""A box on the Docker engine: a place on the machine and a container, taken for bursts of runs."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from docker.models.volumes import Volume

from infra.errors import BoxLostError
from infra.records import ExecutionResult
from sandbox.backends.docker.engine import Running
from sandbox.backends.docker.jobs import Job, Jobs, read_result, read_shell_result
from sandbox.base import CLOCK, InstallResult, ShellResult
from sandbox.machine_slots import Slot
from sandbox.packages import apt, pip
from sandbox.packages.plan import InstallPlan
from sandbox.packages.resolve import DEBIAN_PACKAGES
from sandbox.shell import shell

if TYPE_CHECKING:
    from sandbox.backends.docker.backend import DockerSandbox

_GRACE_S = 10.0
_OUT_OF_MEMORY = "the container ran out of memory"
_TRIES = 2  # a box that was lost from outside is made again once

Value = TypeVar("Value")
Answer = Mapping[str, object]


class DockerBox:
    """A place and a container for one pair's runs, both taken at the first of a burst.

    The container is made again when a program has left it unclean. What commands have done is done
    again before each run, and packages are on a volume: so no container has to be kept.
    """

    def __init__(self, sandbox: "DockerSandbox", code: str, *, bare: bool) -> None:
        self._sandbox = sandbox
        self._settings = sandbox.settings
        self._jobs = Jobs(sandbox.settings, code, bare=bare)
        self._running: Running | None = None
        self._volumes: dict[str, Volume] = {}
        self._removals: list[asyncio.Task[None]] = []
        self._slot: Slot | None = None

    async def install(self, requirements: Sequence[str]) -> InstallResult:
        """Install distributions; see ``Box.install``."""
        if not self._settings.allow_install:
            return InstallResult(ok=False, message="installing is off (sandbox.allow_install)")
        packages, distributions = apt.split(requirements)
        if malformed := pip.malformed(distributions):
            return InstallResult(ok=False, message=f"not a requirement: {', '.join(malformed)}")
        allowed = self._settings.apt_packages
        listed = DEBIAN_PACKAGES if allowed is None else frozenset(allowed)
        if refused := sorted({*packages} - listed):
            message = f"not among sandbox.apt_packages: {', '.join(refused)}"
            return InstallResult(ok=False, message=message)
        plans = []
        if packages:
            plans.append(await self._apt_plan(packages))
        if distributions:
            plans.append(pip.plan(distributions, self._settings.index_hosts))
        results = [await self._install(plan) for plan in plans]
        return InstallResult(
            ok=all(result.ok for result in results),
            installed=tuple(name for result in results for name in result.installed),
            message="\n".join(filter(None, (result.message for result in results))),
            seconds=sum(result.seconds for result in results),
        )

    async def _apt_plan(self, packages: Sequence[str]) -> InstallPlan:
        mirror, sites = self._settings.apt_mirror, list[str]()
        if mirror is None:
            engine = await self._sandbox.engine()
            sites = await self._sandbox.call(engine.installers.apt_sites)
        return apt.plan(packages, mirror, sites)

    async def _install(self, plan: InstallPlan) -> InstallResult:
        await self._take_slot()
        engine = await self._sandbox.engine()
        if plan.folder not in self._volumes:
            self._volumes[plan.folder] = await self._sandbox.acquire(
                engine.make_volume, rollback=engine.remove_volume
            )
        others = {at: one for at, one in self._volumes.items() if at != plan.folder}
        make = partial(engine.installers.make, self._volumes[plan.folder], plan, others)
        installer = await self._sandbox.acquire(make, rollback=engine.remove)
        try:
            result = await self._sandbox.call(engine.installers.run, installer, plan)
        finally:
            await asyncio.shield(self._sandbox.call(engine.remove, installer))
        self._jobs.find(plan.variables)
        self._drop()  # the next run starts a container that has the packages
        return result

    async def run(
        self,
        program: str,
        *,
        hash_seed: int = 0,
        clock: float = CLOCK,
        code: str | None = None,
        timeout_s: float | None = None,
        apart: bool = False,
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
            apart=apart,
        )
        out_of_memory = ExecutionResult(outcome="memory", message=_OUT_OF_MEMORY)
        return await self._done(job, read_result, out_of_memory)

    async def shell(self, line: str) -> ShellResult:
        """Run a line of commands; see ``Box.shell``."""
        return await shell(self, line)

    async def execute(self, command: str) -> ShellResult:
        """Run a command without a network; see ``Terminal.execute``."""
        out_of_memory = ShellResult(status=None, output=_OUT_OF_MEMORY)
        result = await self._done(self._jobs.command(command), read_shell_result, out_of_memory)
        self._jobs.keep(command, result)
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
        volumes, self._volumes = self._volumes, {}
        if volumes:
            await asyncio.gather(*self._removals)
            for volume in volumes.values():
                await self._sandbox.remove_volume(volume)

    async def _done(self, job: Job, read: Callable[[Answer], Value], out_of_memory: Value) -> Value:
        """Return the result of a job, done once more in a new container where the first was lost.

        Args:
            job: The job.
            read: Reads the runner's answer.
            out_of_memory: What the result is where the container's memory did not suffice.
        """
        for _ in range(_TRIES - 1):
            with contextlib.suppress(BoxLostError):
                return await self._try(job, read, out_of_memory)
        return await self._try(job, read, out_of_memory)

    async def _try(self, job: Job, read: Callable[[Answer], Value], out_of_memory: Value) -> Value:
        await self._take_slot()
        self._running = self._running or await self._sandbox.start(self._volumes)
        running, timeout_s = self._running, self._jobs.longest_s() + _GRACE_S
        try:
            answer = await self._sandbox.call(running.channel.ask, job, timeout_s)
        except BoxLostError:
            if not await self._was_out_of_memory(running):
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

    async def _take_slot(self) -> None:
        self._slot = self._slot or await self._sandbox.slots.take()

    def _drop(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            self._removals.append(self._sandbox.discard(running))

    async def _was_out_of_memory(self, running: Running) -> bool:
        engine = await self._sandbox.engine()
        try:
            return await self._sandbox.call(engine.was_out_of_memory, running.container)
        finally:
            self._drop()
