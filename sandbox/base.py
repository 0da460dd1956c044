"""The protocols of a sandbox and its boxes, which every backend implements.

``sandbox/contract`` is the same contract in executable form.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, runtime_checkable

from pydantic import Field

from infra.records import ExecutionResult, Record

Isolation = bool | Literal["on_copies"]
NOT_SEPARABLE = "NotSeparableError"
CLOCK = 1_767_225_600.0  # 2026-01-01T00:00:00Z, the clock at a program's start by default


class InstallResult(Record):
    """The result of installing requirements into a box; ``installed`` lists ``name==version``."""

    ok: bool
    installed: tuple[str, ...] = ()
    message: str = ""
    seconds: float = 0.0


class ShellResult(Record):
    """The result of a line of terminal commands.

    Attributes:
        status: The exit status; None where the command was stopped at a limit.
        output: The end of what was printed, and why a command was refused.
        installed: Requirements that the line has installed.
        seconds: How long it took.
    """

    status: int | None = Field(ge=-(2**31), lt=2**31)
    output: str = ""
    installed: tuple[str, ...] = ()
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)

    @property
    def ok(self) -> bool:
        """Return True if the line succeeded."""
        return self.status == 0


class Box(Protocol):
    """A place for one pair: made for its code under test, thrown away afterwards."""

    async def install(self, requirements: Sequence[str]) -> InstallResult:
        """Install distributions (wheels only) where running programs cannot write.

        A requirement that does not exist or has no wheel is a result with ``ok=False``.

        Raises:
            SandboxError: The box, not the requirement, failed.
        """
        ...

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
        """Run a test program that may ``import target`` (the code under test).

        Args:
            program: The test program.
            hash_seed: Seed of Python's string hashes, on which the order of sets depends, and of
                the random numbers of ``random`` and NumPy.
            clock: Time of day at which the program begins, in seconds since the epoch.
            code: Another version of the code under test for this one run, such as a mutant.
            timeout_s: A shorter limit than the settings', for this one run.
            isolated: Run the code under test in a process of its own, which sees the arguments of
                calls and nothing of the program. Where that cannot be done, the result is
                ``raised`` with ``NOT_SEPARABLE`` as the type of the error. With ``on_copies`` the
                program's own arguments stay as they were, whatever the code does to them.

        Raises:
            SandboxError: The box, not the program, failed; never a verdict.
        """
        ...

    async def shell(self, line: str) -> ShellResult:
        """Run a line of terminal commands, which prepare the box for the next run.

        What lasts: packages that ``pip install`` names, which are installed as by `install`; files
        and folders in the working directory, which is the home folder too; variables of
        ``export NAME=VALUE``, but for those that decide what code is loaded. Nothing
        else does: the commands run as a program runs, without a network, under its limits and a
        time-out of their own; processes end with their line; the files are made again, by the same
        commands, before each run. No file that they make is found by ``import``.

        Raises:
            SandboxError: The box, not the command, failed.
        """
        ...

    async def release(self) -> None:
        """Free what the box holds of the machine until its next use, such as its container.

        To be called before a wait, as for a model. What was installed and what commands have done
        is there at the next use.
        """
        ...


class Sandbox(Protocol):
    """A backend that makes boxes."""

    async def check(self) -> str:
        """Return engine and image id, for messages and for the recipe.

        Raises:
            EngineUnavailableError: No engine answers; the message says what to do.
            ImageMissingError: The image is missing; the message says what to do.
        """
        ...

    def box(
        self, code: str, *, bare: bool = False, language: str = "python"
    ) -> AbstractAsyncContextManager[Box]:
        """Return a fresh box around the code under test, importable inside as ``target``.

        It takes up none of the machine's places for boxes before its first use.

        Args:
            code: The code under test.
            bare: Leave out the packages of the image, so that programs find Python's own modules
                and what is installed for them.
            language: The language of code and programs, by its registered name. Code in another
                than Python always runs in a process of its own.
        """
        ...

    async def close(self) -> None:
        """Remove everything that is still there."""
        ...


@runtime_checkable
class Identified(Protocol):
    """A backend on an engine, whose boxes must show all behaviours before a run uses them."""

    async def identity(self) -> str:
        """Return the identity of the engine as it is; another one where something of it changes.

        Raises:
            EngineUnavailableError: No engine answers.
            ImageMissingError: The image is missing.
        """
        ...


@runtime_checkable
class Cleanable(Protocol):
    """A backend that can remove the containers of other processes."""

    async def clean(self, *, everything: bool) -> int:
        """Remove what ended processes of this host left; return the number of objects removed.

        Args:
            everything: Remove what running processes use too, and the cache of wheels.
        """
        ...
