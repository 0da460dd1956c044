"""The jobs that a box gives to its runner, and the reading of what the runner answers."""

from collections.abc import Mapping
from typing import Literal, TypeVar

from pydantic import Field, ValidationError
from pydantic_core import PydanticSerializationError

from infra.errors import BoxLostError, MachineBusyError
from infra.records import ExecutionResult, Record
from infra.settings import SandboxSettings
from sandbox.base import Isolation, ShellResult
from sandbox.executed import EXECUTED
from sandbox.inside.interpreters import BUILD_TIMEOUT_S
from sandbox.inside.processes import MOST_WAITING, STARVED

Job = dict[str, object]
Answer = TypeVar("Answer", bound=Record)

_MEGABYTE = 2**20
_OUTPUT_FACTOR = 16  # a program is stopped at this many times the output that is kept
_RUNNER_MEMORY_MB = 24  # set aside for the runner, so that programs meet their limit first
_MOST_COMMANDS = 50
_MOST_BESIDE_OUTPUT = 512 * 1024  # bytes of a report without what was printed
_JSON_BYTES = 6  # that one byte of a report may take in JSON


class CommandReport(Record):
    """A runner's report of a command; it cannot know what was installed."""

    status: int | None = Field(ge=-(2**31), lt=2**31)
    stopped_by: Literal["", "timeout", "output_limit", "memory"]
    output: str = ""
    seconds: float = Field(ge=0, allow_inf_nan=False)


class Jobs:
    """The jobs of one box, with what its commands have left for the next.

    Args:
        settings: The limits.
        code: The code under test.
        bare: Whether programs do without the image's packages.
        language: The language of code and programs.
    """

    def __init__(
        self, settings: SandboxSettings, code: str, *, bare: bool, language: str = "python"
    ) -> None:
        self._settings = settings
        self._code = code
        self._bare = bare
        self._harness = EXECUTED[language]
        self._commands: list[str] = []
        self._environment: dict[str, str] = {}

    def program(
        self,
        text: str,
        *,
        hash_seed: int,
        clock: float,
        code: str | None,
        timeout_s: float | None,
        isolated: Isolation = False,
    ) -> Job:
        """Return the job that runs a program; arguments as of ``Box.run``."""
        limit = self._settings.timeout_s
        return self._job() | {
            "code": self._code if code is None else code,
            "program": text,
            "hash_seed": hash_seed,
            "clock": clock,
            "timeout": min(timeout_s or limit, limit),
            "isolated": isolated,
            "harness": self._harness.command(hash_seed, self._settings.memory_mb),
            "compiled": self._harness.is_compiled,
        }

    def command(self, text: str) -> Job:
        """Return the job that runs a terminal command after those before it."""
        return self._job() | {"command": text}

    def repeat(self, command: str, result: ShellResult) -> None:
        """Let a command be run again before each job, unless it was stopped at a limit."""
        if result.status is not None and len(self._commands) < _MOST_COMMANDS:
            self._commands.append(command)

    def export(self, name: str, value: str) -> None:
        """Set a variable for all jobs that follow."""
        self._environment[name] = value

    def longest_s(self) -> float:
        """Return the most seconds that a job may take."""
        commands = 1 + len(self._commands)
        limits = self._settings
        builds = 2 * BUILD_TIMEOUT_S * (self._harness.is_compiled)
        return MOST_WAITING * (limits.timeout_s + builds + commands * limits.command_timeout_s)

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


def longest_answer(settings: SandboxSettings) -> int:
    """Return the most bytes of JSON in which an intact runner answers."""
    return _JSON_BYTES * (2 * settings.output_kb * 1024 + _MOST_BESIDE_OUTPUT)


def read_shell_result(answer: Mapping[str, object]) -> ShellResult:
    """Return the result of a command that a runner answered with; errors as of `read_result`."""
    report = _valid(CommandReport, answer)
    stopped = f"\n[stopped: {report.stopped_by}]" if report.stopped_by else ""
    return ShellResult(status=report.status, output=report.output + stopped, seconds=report.seconds)


def read_result(answer: Mapping[str, object]) -> ExecutionResult:
    """Return the result that a runner answered with.

    Raises:
        BoxLostError: It is none, or beyond its bounds, which no intact runner sends.
    """
    return _valid(ExecutionResult, answer)


def _valid(kind: type[Answer], fields: Mapping[str, object]) -> Answer:
    if STARVED in (fields.get("outcome"), fields.get("stopped_by")):
        raise MachineBusyError(
            "the machine was too busy to judge a program, which had no core for most of "
            f"{MOST_WAITING} times its limit; let fewer boxes run at once (sandbox.slots)"
        )
    try:
        answer = kind.model_validate(fields)
        answer.model_dump_json()  # which no half of a surrogate pair survives, nor does any store
    except (ValidationError, PydanticSerializationError):
        raise BoxLostError("the box sent a report that is not valid") from None
    return answer
