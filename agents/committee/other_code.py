"""A view of a box with another version of the code under test."""

from collections.abc import Sequence

from infra.records import ExecutionResult
from sandbox.base import CLOCK, Box, InstallResult, ShellResult


class OtherCode:
    """A box whose programs get another code under test where a run names none.

    Args:
        box: The box itself, in which everything happens.
        code: The code.
    """

    def __init__(self, box: Box, code: str) -> None:
        self._box = box
        self._code = code

    async def install(self, requirements: Sequence[str]) -> InstallResult:
        """Install distributions; see `sandbox.base.Box`."""
        return await self._box.install(requirements)

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
        return await self._box.run(
            program,
            hash_seed=hash_seed,
            clock=clock,
            code=self._code if code is None else code,
            timeout_s=timeout_s,
            apart=apart,
        )

    async def shell(self, line: str) -> ShellResult:
        """Run a line of terminal commands; see `sandbox.base.Box`."""
        return await self._box.shell(line)

    async def release(self) -> None:
        """Free what the box holds; see `sandbox.base.Box`."""
        await self._box.release()
