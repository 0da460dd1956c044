"""The terminal of a box: installs as `Box.install` does, runs everything else offline."""

import time
from collections.abc import Sequence
from typing import Protocol

from sandbox.base import InstallResult, ShellResult
from sandbox.packages.commands import Export, Install, Remark, Step, steps_of

_LONGEST_LINE = 2_000  # characters
_MOST_STEPS = 20
_KEPT_OUTPUT = 4_000  # characters of a line's output, from its end
_FAILED = 1
_TOO_MUCH = 2


class Terminal(Protocol):
    """A backend's results of the commands of a box."""

    async def install(self, requirements: Sequence[str]) -> InstallResult:
        """Install distributions; see ``Box.install``."""
        ...

    async def execute(self, command: str) -> ShellResult:
        """Run a command without a network; see ``Box.shell``."""
        ...

    def export(self, name: str, value: str) -> None:
        """Set a variable for the runs and commands that follow."""
        ...


async def shell(terminal: Terminal, line: str) -> ShellResult:
    """Return the result of a line of commands; see ``Box.shell``."""
    started = time.monotonic()
    if len(line) > _LONGEST_LINE:
        return ShellResult(status=_TOO_MUCH, output=f"longer than {_LONGEST_LINE} characters")
    outputs: list[str] = []
    installed: list[str] = []
    status: int | None = 0
    steps = steps_of(line)
    for operator, step in steps[:_MOST_STEPS]:
        if (operator == "&&" and status != 0) or (operator == "||" and status == 0):
            continue
        result = await _perform(terminal, step)
        status = result.status
        outputs.append(result.output)
        installed += result.installed
    if len(steps) > _MOST_STEPS:
        status = _TOO_MUCH
        outputs.append(f"only the first {_MOST_STEPS} commands of the line were run")
    return ShellResult(
        status=status,
        output="\n".join(filter(None, outputs))[-_KEPT_OUTPUT:],
        installed=tuple(installed),
        seconds=time.monotonic() - started,
    )


async def _perform(terminal: Terminal, step: Step) -> ShellResult:
    match step:
        case Install(requirements):
            result = await terminal.install(requirements)
            if not result.ok:
                return ShellResult(status=_FAILED, output=result.message)
            listing = f"installed {' '.join(result.installed)}".strip()
            return ShellResult(status=0, output=listing, installed=requirements)
        case Export(name, value):
            terminal.export(name, value)
            return ShellResult(status=0)
        case Remark(text, status):
            return ShellResult(status=status, output=text)
        case _:
            return await terminal.execute(step.command)
