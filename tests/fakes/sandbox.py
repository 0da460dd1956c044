"""An in-memory sandbox: nothing runs, results follow from what the test scripts."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from infra.records import ExecutionResult
from sandbox.base import CLOCK, InstallResult, Isolation, ShellResult
from sandbox.shell import shell

Behaviour = Callable[[str, frozenset[str]], ExecutionResult]

PASSED = ExecutionResult(outcome="passed", tests_run=2, asserts_executed=3, target_calls=3)
FAILED = ExecutionResult(
    outcome="assertion_failed", error_type="AssertionError", message="assert 1 == 2", tests_run=1,
    asserts_executed=1, target_calls=1,
)  # fmt: skip
HOLLOW = ExecutionResult(outcome="passed")


def raised(error_type: str = "NameError", message: str = "x") -> ExecutionResult:
    """Return the result of a program that raised."""
    return ExecutionResult(outcome="raised", error_type=error_type, message=message)


def lacks(module: str) -> ExecutionResult:
    """Return the result of a program that imports what is not installed."""
    message = f"No module named {module!r}"
    return ExecutionResult(
        outcome="import_error",
        error_type="ModuleNotFoundError",
        message=message,
        missing_module=module,
    )


class FakeBox:
    """A box whose runs come from a function of the program and of what is installed."""

    def __init__(
        self, behaviour: Behaviour, installable: frozenset[str], on_mutant: ExecutionResult = FAILED
    ) -> None:
        self.installed: frozenset[str] = frozenset()
        self.releases = 0
        self._behaviour = behaviour
        self._installable = installable
        self._on_mutant = on_mutant

    async def install(self, requirements: Sequence[str]) -> InstallResult:
        """Install what is installable."""
        if not self._installable.issuperset(requirements):
            return InstallResult(ok=False, message="no such distribution")
        self.installed |= frozenset(requirements)
        return InstallResult(ok=True, installed=tuple(requirements))

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
        """Return the scripted result; mutants, which have less time, get ``on_mutant``.

        Those that end their process where a line is reached end it: each line is.
        """
        if code is not None and timeout_s is not None:
            return FAILED if "._exit(" in code else self._on_mutant
        return self._behaviour(program, self.installed)

    async def shell(self, line: str) -> ShellResult:
        """Run a line as every box does; commands for ``sh`` succeed and count as installed."""
        return await shell(self, line)

    async def execute(self, command: str) -> ShellResult:
        """Note a command; those with "fail" in them do."""
        if "fail" in command:
            return ShellResult(status=1, output=f"{command}: failed")
        self.installed |= {command}
        return ShellResult(status=0, output=f"{command}: done")

    async def release(self) -> None:
        """Note that the box is not in use."""
        self.releases += 1

    def export(self, name: str, value: str) -> None:
        """Note a variable."""
        self.installed |= {f"{name}={value}"}


class FakeSandbox:
    """A sandbox of such boxes; ``made`` and ``open`` count them, ``asked`` says for what."""

    def __init__(
        self,
        behaviour: Behaviour,
        installable: Sequence[str] = (),
        on_mutant: ExecutionResult = FAILED,
    ) -> None:
        self.made = 0
        self.open = 0
        self.asked: list[tuple[str, bool]] = []
        self._on_mutant = on_mutant
        self._behaviour = behaviour
        self._installable = frozenset(installable)

    def made_box(self) -> FakeBox:
        """Return a box; other sandboxes make others."""
        return FakeBox(self._behaviour, self._installable, self._on_mutant)

    async def check(self) -> str:
        """Return what stands for engine and image."""
        return "fake sandbox"

    def box(
        self, code: str, *, bare: bool = False, language: str = "python"
    ) -> AbstractAsyncContextManager[FakeBox]:
        """Return a fresh box, and note what was asked for."""
        self.asked.append((code, bare))
        return self._box()

    async def close(self) -> None:
        """Hold nothing."""

    @asynccontextmanager
    async def _box(self) -> AsyncIterator[FakeBox]:
        self.made += 1
        self.open += 1
        try:
            yield self.made_box()
        finally:
            self.open -= 1
