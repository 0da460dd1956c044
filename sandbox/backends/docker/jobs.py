"""The jobs that a box gives to its runner, and the reading of what the runner answers."""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import ValidationError

from infra.errors import BoxLostError
from infra.records import ExecutionResult
from infra.settings import SandboxSettings
from sandbox.base import ShellResult

Job = dict[str, object]
Answer = TypeVar("Answer", ExecutionResult, ShellResult)

_MEGABYTE = 2**20
_OUTPUT_FACTOR = 16  # a program is stopped at this many times the output that is kept
_RUNNER_MEMORY_MB = 24  # set aside for the runner, so that programs meet their limit first
_MOST_COMMANDS = 50


class Jobs:
    """The jobs of one box, with what its commands have left for the next.

    Args:
        settings: The limits.
        code: The code under test.
        bare: Whether programs do without the image's packages.
    """

    def __init__(self, settings: SandboxSettings, code: str, *, bare: bool) -> None:
        self._settings = settings
        self._code = code
        self._bare = bare
        self._commands: list[str] = []
        self._environment: dict[str, str] = {}

    def program(
        self, text: str, *, hash_seed: int, clock: float, code: str | None, timeout_s: float | None
    ) -> Job:
        """Return the job that runs a program; arguments as of ``Box.run``."""
        limit = self._settings.timeout_s
        return self._job() | {
            "code": self._code if code is None else code,
            "program": text,
            "hash_seed": hash_seed,
            "clock": clock,
            "timeout": min(timeout_s or limit, limit),
        }

    def command(self, text: str) -> Job:
        """Return the job that runs a terminal command after those before it."""
        return self._job() | {"command": text}

    def keep(self, command: str, result: ShellResult) -> None:
        """Let a command be run again before each job, unless it was stopped at a limit."""
        if result.status is not None and len(self._commands) < _MOST_COMMANDS:
            self._commands.append(command)

    def export(self, name: str, value: str) -> None:
        """Set a variable for all jobs that follow."""
        self._environment[name] = value

    def longest_s(self) -> float:
        """Return the most seconds that a job may take."""
        commands = 1 + len(self._commands)
        return self._settings.timeout_s + commands * self._settings.command_timeout_s

    def _job(self) -> Job:
        limits = self._settings
        return {
            "commands": list(self._commands),
            "environment": dict(self._environment),
            "bare": self._bare,
            "command_timeout": limits.command_timeout_s,
            "keep": limits.output_kb * 1024,
            "cut": _OUTPUT_FACTOR * limits.output_kb * 1024,
            "memory": (limits.memory_mb - _RUNNER_MEMORY_MB) * _MEGABYTE,
        }


def read_shell_result(answer: Mapping[str, object]) -> ShellResult:
    """Return the result of a command that a runner answered with; errors as of `read_result`."""
    fields = {name: value for name, value in answer.items() if name != "stopped_by"}
    result = _valid(ShellResult, fields)
    if limit := answer.get("stopped_by"):
        output = f"{result.output}\n[stopped: {str(limit)[:20]}]"
        return result.model_copy(update={"output": output})
    return result


def read_result(answer: Mapping[str, object]) -> ExecutionResult:
    """Return the result that a runner answered with.

    Raises:
        BoxLostError: It is none, or beyond its bounds, which no intact runner sends.
    """
    return _valid(ExecutionResult, answer)


def _valid(kind: type[Answer], fields: Mapping[str, object]) -> Answer:
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        faults = ", ".join(
            f"{'.'.join(map(str, fault['loc']))[:50]}: {fault['msg']}"
            for fault in error.errors(include_input=False)[:5]
        )
        raise BoxLostError(f"the box sent a report that is not valid ({faults})") from None
