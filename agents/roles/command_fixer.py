"""The bug fixer of the paper: it answers a program's error with terminal commands."""

from typing import Literal

from agents.evidence import Draft, missing_requirement
from agents.llm.prompt import fence, shorten
from agents.llm.structured_output import Reply
from agents.roles.base import Agent, beside_section
from infra.records import ExecutionResult, RepairStep
from sandbox.base import Box, ShellResult

_LONGEST_ERROR = 4_000  # characters of a program's error, from its end
_LONGEST_LOG = 6_000
_MOST_COMMANDS = 10  # in one round
_LONGEST_OUTPUT = 4_000  # that a step holds, from its end
_LONGEST_COMMAND = 2_000


class Commands(Reply):
    """Terminal commands, proposed by the model."""

    diagnosis: str
    verdict: Literal["repairable", "irreparable"]
    commands: str


class CommandFixer(Agent[Commands]):
    """Prepares the box for programs that end by an error (CoSQA+, Algorithm 1, in two stages).

    It sees the program and its error, and neither the query nor the code. The program itself stays
    as it is.
    """

    role = "command_fixer"
    reply_type = Commands

    async def propose(self, draft: Draft, result: ExecutionResult) -> tuple[str, ...]:
        """Return the commands of one round; none where the model finds the error irreparable.

        Raises:
            LanguageModelError: The model failed.
        """
        limit = self._model.code_limit
        parts = [
            fence("program", shorten(draft.program, limit)),
            *beside_section(draft.beside),
            fence("error", _error_of(result)[-min(_LONGEST_ERROR, limit) :]),
        ]
        if draft.repairs:
            parts.append(fence("commands so far", _log_of(draft)[-min(_LONGEST_LOG, limit) :]))
        reply = await self._ask("\n".join(parts))
        return () if reply.verdict == "irreparable" else _lines_of(reply.commands)


async def install_missing_module(draft: Draft, result: ExecutionResult, box: Box) -> Draft | None:
    """Return the draft after the direct installation of what a run lacked (stage 1).

    None where nothing is missing, or its installation was tried before. The draft's repairs say
    whether it succeeded.

    Raises:
        SandboxError: The box failed; a requirement that cannot be installed is no such error.
    """
    requirement = missing_requirement(draft, result)
    if not requirement:
        return None
    line = f"pip install {requirement}"
    if any(step.command == line for step in draft.repairs):
        return None
    outcome = await box.install([requirement])
    installed = (requirement,) if outcome.ok else ()
    text = " ".join(outcome.installed) if outcome.ok else outcome.message
    done = ShellResult(
        status=0 if outcome.ok else 1, output=text, installed=installed, seconds=outcome.seconds
    )
    return _after(draft, line, done)


async def run_commands(draft: Draft, commands: tuple[str, ...], box: Box) -> Draft:
    """Return the draft after commands were run in its box (stage 2), with their log.

    Raises:
        SandboxError: The box failed; a command that fails is no such error.
    """
    for command in commands[:_MOST_COMMANDS]:
        draft = _after(draft, command, await box.shell(command))
    for command in commands[_MOST_COMMANDS:]:
        refused = ShellResult(status=2, output=f"more than {_MOST_COMMANDS} commands in a round")
        draft = _after(draft, command, refused)
    return draft


def _lines_of(text: str) -> tuple[str, ...]:
    """Return the commands of a reply: one a line, without prompts and marks of code blocks."""
    lines = (line.strip().removeprefix("$ ") for line in text.replace("\\\n", " ").splitlines())
    return tuple(line for line in lines if line and not line.startswith(("#", "```")))


def _after(draft: Draft, command: str, result: ShellResult) -> Draft:
    step = RepairStep(
        command=command[:_LONGEST_COMMAND],
        ok=result.ok,
        output=result.output[-_LONGEST_OUTPUT:],
        installed=result.installed,
        seconds=result.seconds,
    )
    new = tuple(name for name in result.installed if name not in draft.requirements)
    return draft.model_copy(
        update={
            "repairs": (*draft.repairs, step),
            "requirements": (*draft.requirements, *new),
        }
    )


def _error_of(result: ExecutionResult) -> str:
    """Return the errors of a run: of each test that failed, and what it wrote to stderr."""
    tests = [
        f"{case.name}: {case.outcome}: {case.error_type} {case.message}"
        for case in result.tests
        if case.outcome != "passed"
    ]
    whole = f"{result.outcome}: {result.error_type} {result.message}"
    return "\n".join((*tests, result.stderr, whole))


def _log_of(draft: Draft) -> str:
    return "\n".join(
        f"$ {step.command}\n{step.output}\n[{'succeeded' if step.ok else 'failed'}]"
        for step in draft.repairs
    )
