"""A sandbox that keeps what runs gave, by content, for pairs that are judged in several passes.

A pair whose replies come by batches is judged again after each batch. Its programs must give what
they gave before: a request of the agents holds their output, and one with another output would be
another request. A box of the real sandbox is taken only for what is not kept.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeVar

from pydantic import ValidationError

from infra.identity import digest_of
from infra.journal import Journal
from infra.records import ExecutionResult, Record
from sandbox.base import CLOCK, Box, InstallResult, Sandbox, ShellResult

_Result = TypeVar("_Result", bound=Record)


class RememberingSandbox:
    """A sandbox in front of another one.

    Args:
        sandbox: The real one; closing it is left to the caller.
        journal: Where results are kept.
        recipe_id: Results of one recipe, and so of one image and round, are not found by another.
    """

    def __init__(self, sandbox: Sandbox, journal: Journal, recipe_id: str) -> None:
        self._sandbox = sandbox
        self._journal = journal
        self._recipe_id = recipe_id

    async def check(self) -> str:
        """Return what the real sandbox says."""
        return await self._sandbox.check()

    def box(self, code: str, *, bare: bool = False) -> AbstractAsyncContextManager[Box]:
        """Return a box that is taken from the real sandbox only when it is needed."""
        return self._box(code, bare=bare)

    async def close(self) -> None:
        """Do nothing."""

    @asynccontextmanager
    async def _box(self, code: str, *, bare: bool) -> AsyncIterator[Box]:
        state = digest_of([self._recipe_id, code, bare])
        box = RememberingBox(lambda: self._sandbox.box(code, bare=bare), self._journal, state)
        try:
            yield box
        finally:
            await box.release()


class RememberingBox:
    """A box that gives kept results, and prepares a real one when it needs another.

    Args:
        take: Takes a real box.
        journal: Where results are kept.
        state: Digest of the code under test and of where it runs; changes with what is done.
    """

    def __init__(
        self, take: Callable[[], AbstractAsyncContextManager[Box]], journal: Journal, state: str
    ) -> None:
        self._take = take
        self._journal = journal
        self._state = state
        self._held = AsyncExitStack()
        self._real: Box | None = None
        self._preparations: list[Callable[[Box], Awaitable[object]]] = []

    async def install(self, requirements: Sequence[str]) -> InstallResult:
        """Install distributions; see `sandbox.base.Box`."""
        return await self._prepare(
            ["install", *requirements], InstallResult, lambda box: box.install(requirements)
        )

    async def shell(self, line: str) -> ShellResult:
        """Run a line of commands; see `sandbox.base.Box`."""
        return await self._prepare(["shell", line], ShellResult, lambda box: box.shell(line))

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
        """Run a program; see `sandbox.base.Box`."""
        mode = ["apart"] if apart else []
        key = digest_of([self._state, program, hash_seed, clock, code, timeout_s, *mode])
        result = self._find(key, ExecutionResult)
        if result is None:
            box = await self._prepared()
            result = await box.run(
                program,
                hash_seed=hash_seed,
                clock=clock,
                code=code,
                timeout_s=timeout_s,
                apart=apart,
            )
            await self._keep(key, result)
        return result

    async def release(self) -> None:
        """Give the real box back; another is prepared alike when one is needed again."""
        self._real = None
        await self._held.aclose()

    async def _prepare(
        self, words: Sequence[str], kind: type[_Result], step: Callable[[Box], Awaitable[_Result]]
    ) -> _Result:
        """Return the result of a step that changes the box for all later ones."""
        state = digest_of([self._state, *words])
        result = self._find(state, kind)
        if result is None:
            result = await step(await self._prepared())
            await self._keep(state, result)
        elif self._real is not None:
            await step(self._real)
        self._state = state
        self._preparations.append(step)
        return result

    async def _prepared(self) -> Box:
        """Return the real box, in which all preparations are done."""
        if self._real is None:
            box = await self._held.enter_async_context(self._take())
            for preparation in self._preparations:
                await preparation(box)
            self._real = box
        return self._real

    def _find(self, key: str, kind: type[_Result]) -> _Result | None:
        content = self._journal.find(key, "runs")
        try:
            return None if content is None else kind.model_validate_json(content)
        except ValidationError:  # by another release
            return None

    async def _keep(self, key: str, result: Record) -> None:
        content = result.model_dump_json().encode()
        await asyncio.wrap_future(self._journal.keep(key, content, "runs"))
