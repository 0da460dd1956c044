"""The bug fixers: one answers an error by terminal commands, one by an action on the program."""

import re
from collections import Counter
from typing import Literal

from agents.evidence import Draft, missing_requirement
from agents.gates import Gate
from agents.gates.outcomes import handler_lines
from agents.gates.static_checks import faults_of
from agents.gates.stubs import PYTHON_STUBS
from agents.llm.prompt import fence, pair_section, shorten
from agents.llm.structured_output import Reply
from agents.roles import Agent, stub_section, undefined_section
from infra.languages.python import assertions_of, import_statements, joined, with_imports
from infra.records import ExecutionResult, Pair
from sandbox.base import Box

_LONGEST_ERROR = 4_000  # characters of a program's error, from its end
_LONGEST_LOG = 6_000
_MOST_COMMANDS = 10  # in one round
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*(==[A-Za-z0-9.+!]+)?")
_LONGEST_TRIED = 300  # characters on a repair in vain
_LONGEST_TRACEBACK = 1_500  # characters of a traceback or of stderr, from its end


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
        """Return the commands of one round; none where the model finds the error irreparable."""
        limit = self._model.code_limit
        errors = [
            f"{case.name}: {case.outcome}: {case.error_type} {case.message}"
            for case in result.tests
            if case.outcome != "passed"
        ]
        errors += [result.stderr, f"{result.outcome}: {result.error_type} {result.message}"]
        parts = [
            fence("program", shorten(draft.program, limit)),
            *stub_section(draft.support_code),
            fence("error", "\n".join(errors)[-min(_LONGEST_ERROR, limit) :]),
        ]
        if draft.repairs:
            log = "\n".join(
                f"$ {step.command}\n{step.output}\n[{'succeeded' if step.ok else 'failed'}]"
                for step in draft.repairs
            )
            parts.append(fence("commands so far", log[-min(_LONGEST_LOG, limit) :]))
        reply = await self._ask("\n".join(parts))
        if reply.verdict == "irreparable":
            return ()
        # One a line, without prompts and marks of code blocks.
        lines = reply.commands.replace("\\\n", " ").splitlines()
        commands = (line.strip().removeprefix("$ ") for line in lines)
        return tuple(line for line in commands if line and not line.startswith(("#", "```")))


async def install(requirement: str, draft: Draft, box: Box, *, command: str = "install") -> Draft:
    """Return the draft after the installation of a distribution, with its log."""
    outcome = await box.install([requirement])
    output = " ".join(outcome.installed) if outcome.ok else outcome.message
    return draft.with_repair(
        f"{command} {requirement}",
        output,
        ok=outcome.ok,
        installed=(requirement,) if outcome.ok else (),
        seconds=outcome.seconds,
    )


async def run_commands(draft: Draft, commands: tuple[str, ...], box: Box) -> Draft:
    """Return the draft after commands were run in its box (stage 2), with their log."""
    for command in commands[:_MOST_COMMANDS]:
        done = await box.shell(command)
        draft = draft.with_repair(
            command, done.output, ok=done.ok, installed=done.installed, seconds=done.seconds
        )
    for command in commands[_MOST_COMMANDS:]:
        draft = draft.with_repair(
            command, f"more than {_MOST_COMMANDS} commands in a round", ok=False
        )
    return draft


class Repair(Reply):
    """One action, proposed by the model."""

    diagnosis: str
    action: Literal["install", "add_import", "add_import_to_code", "replace_program", "give_up"]
    content: str


class Fixer(Agent[Repair]):
    """Repairs what is missing around program and code, and the program's own faults.

    It takes the place of the published fixer (CoSQA+, Algorithm 1: two stages). A repaired program
    catches no more of what the code raises than it did before.
    """

    role = "fixer"
    reply_type = Repair

    async def fix(
        self, pair: Pair, draft: Draft, result: ExecutionResult, box: Box
    ) -> Draft | None:
        """Return the draft after one round of repair, None when nothing is left to try."""
        if requirement := missing_requirement(draft, result):
            installed = await install(requirement, draft, box)
            if not installed.runs_like(draft):
                return installed
            draft = installed
        limit = self._model.code_limit
        first = next((test for test in result.tests if test.traceback), None)
        output = first.traceback if first else result.stderr
        end = f"{result.outcome}: {result.error_type} {result.message[:limit]}"
        report = f"{end}\n{output[-min(_LONGEST_TRACEBACK, limit) :]}"
        parts = [
            pair_section(pair, limit),
            *undefined_section(pair.code, limit),
            fence("program", draft.program),
            *stub_section(draft.support_code),
            fence("report", report),
        ]
        if draft.repairs:
            done = f"done, but it ended by {result.error_type or result.outcome}: {result.message}"
            lines = (
                f"{step.command}: {done if step.ok else step.output}" for step in draft.repairs
            )
            parts.append(fence("tried in vain", "\n".join(line[:_LONGEST_TRIED] for line in lines)))
        repair = await self._ask("\n".join(parts))
        return await _apply(repair, draft, pair.code.text, box)


async def _apply(repair: Repair, draft: Draft, code: str, box: Box) -> Draft | None:
    content = repair.content
    match repair.action:
        case "give_up":
            return None
        case "install" if _REQUIREMENT.fullmatch(content.strip()):
            return await install(content.strip(), draft, box)
        case "install":
            problem = "not the name of a distribution"
            return draft.with_repair(f"install {content.strip()!r}", problem, ok=False)
        case "add_import":
            return _add_imports(content, draft, code)
        case "add_import_to_code":
            return _add_stubs(content.strip(), draft, code)
    return _replace_program(content, draft, code)


def _add_imports(lines: str, draft: Draft, code: str) -> Draft:
    try:
        import_statements(lines)
        program = with_imports(draft.program, lines)
    except (SyntaxError, ValueError) as error:
        return draft.with_repair(f"add_import {lines!r}", str(error), ok=False)
    fault = faults_of(program, code).get(Gate.LEAVES_TARGET_ALONE)
    if fault and Gate.LEAVES_TARGET_ALONE not in faults_of(draft.program, code):
        return draft.with_repair(f"add_import {lines!r}", fault, ok=False)
    added = draft.model_copy(update={"program": program})
    return added.with_repair(f"add_import {lines.strip()}")


def _add_stubs(lines: str, draft: Draft, code: str) -> Draft:
    if fault := PYTHON_STUBS.fault_of(lines, code) or ("" if lines else "nothing is given"):
        return draft.with_repair(f"add_import_to_code {lines!r}", fault, ok=False)
    added = draft.model_copy(update={"support_code": joined(draft.support_code, lines)})
    return added.with_repair(f"add_import_to_code {lines}")


def _replace_program(program: str, draft: Draft, code: str) -> Draft:
    """Return the draft with a repaired program, if that demands the same and leaves the code be."""
    faults, more = faults_of(program, code), handler_lines(program, code)
    problem = faults.get(Gate.READABLE) or faults.get(Gate.LEAVES_TARGET_ALONE, "")
    if not problem and len(more) > len(handler_lines(draft.program, code)):
        problem = f"{more[-1]}, which would hide what the code does"
    if not problem and _assertions_of(draft.program) not in (None, _assertions_of(program)):
        problem = "it changes what the assertions demand"
    if problem:
        return draft.with_repair("replace_program", problem, ok=False)
    return draft.model_copy(update={"program": program}).with_repair("replace_program")


def _assertions_of(program: str) -> Counter[str] | None:
    """Return a program's assertions, None where it cannot be read."""
    try:
        return assertions_of(program)
    except SyntaxError:
        return None
