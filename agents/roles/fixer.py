"""The bug fixer: makes a program executable, first by installation, then as the model proposes."""

import ast
import re
from collections import Counter
from collections.abc import Callable
from typing import Literal

from agents.evidence import Draft, Evidence
from agents.gates.gates import Gate
from agents.gates.static_checks import faults_of
from agents.llm.client import Model
from agents.llm.prompt import Prompt, fence, question_of, system_text
from agents.llm.structured_output import Reply
from infra.languages.python.assertions import demands_of
from infra.records import ExecutionResult, Pair
from sandbox.base import Box

_TARGET = "target"
_REQUIREMENT = re.compile(r"(apt:)?[A-Za-z0-9][A-Za-z0-9.+_-]*(==[A-Za-z0-9.+!]+)?")
_LONGEST_OUTPUT = 1_500  # characters of a program's stderr: the end tells


class Repair(Reply):
    """One action, proposed by the model."""

    diagnosis: str
    action: Literal["install", "add_import", "replace_program", "give_up"]
    content: str


class Fixer:
    """Mends programs that did not run to an end (CoSQA+, Algorithm 1: two stages).

    Args:
        model: Proposes actions once direct installation does not help.
        distribution_for: The distribution that provides a top-level module.
    """

    def __init__(self, model: Model, distribution_for: Callable[[str], str]) -> None:
        self._model = model
        self._distribution_for = distribution_for

    async def mend(
        self, pair: Pair, draft: Draft, result: ExecutionResult, box: Box, evidence: Evidence
    ) -> Draft | None:
        """Return the draft after one round of mending, None when nothing is left to try.

        Raises:
            LanguageModelError: The model failed.
            SandboxError: The box failed; a requirement that cannot be installed is no such error.
        """
        requirement = self._missing_requirement(draft, result)
        if requirement:
            installed = await _install(requirement, draft, box)
            if not installed.runs_like(draft):
                return installed
            draft = installed
        prompt = Prompt(system=system_text("fixer"), user=self._matter(pair, draft, result))
        repair = await self._model.ask("fixer", prompt, Repair, evidence)
        return await _apply(repair, draft, pair.code.text, box)

    def _missing_requirement(self, draft: Draft, result: ExecutionResult) -> str | None:
        module = result.missing_module
        if not module or module == _TARGET:
            return None
        requirement = self._distribution_for(module)
        known = requirement in draft.requirements or any(requirement in a for a in draft.attempts)
        return None if known else requirement

    def _matter(self, pair: Pair, draft: Draft, result: ExecutionResult) -> str:
        limit = self._model.code_limit
        output = result.stderr[-min(_LONGEST_OUTPUT, limit) :]
        report = f"{result.outcome}: {result.error_type} {result.message[:limit]}\n{output}"
        parts = [question_of(pair, limit), fence("program", draft.program), fence("report", report)]
        if draft.attempts:
            parts.append(fence("tried in vain", "\n".join(draft.attempts)))
        return "\n".join(parts)


async def _apply(repair: Repair, draft: Draft, code: str, box: Box) -> Draft | None:
    if repair.action == "give_up":
        return None
    if repair.action == "install":
        return await _install(repair.content.strip(), draft, box)
    if repair.action == "add_import":
        return _with_imports(repair.content, draft, code)
    return _replaced(repair.content, draft, code)


async def _install(requirement: str, draft: Draft, box: Box) -> Draft:
    if not _REQUIREMENT.fullmatch(requirement):
        return _in_vain(draft, f"install {requirement!r}: not the name of a distribution")
    outcome = await box.install([requirement])
    if not outcome.ok:
        return _in_vain(draft, f"install {requirement}: {outcome.message}")
    return draft.model_copy(update={"requirements": (*draft.requirements, requirement)})


def _with_imports(lines: str, draft: Draft, code: str) -> Draft:
    try:
        statements = ast.parse(lines.strip()).body
    except (SyntaxError, ValueError):
        statements = []
    if not statements or not all(isinstance(s, ast.Import | ast.ImportFrom) for s in statements):
        return _in_vain(draft, f"add_import {lines!r}: not import statements alone")
    program = f"{lines.strip()}\n{draft.program}"
    meddling = faults_of(program, code).get(Gate.LEAVES_TARGET_ALONE)
    if meddling and Gate.LEAVES_TARGET_ALONE not in faults_of(draft.program, code):
        return _in_vain(draft, f"add_import {lines!r}: {meddling}")
    return draft.model_copy(update={"program": program})


def _replaced(program: str, draft: Draft, code: str) -> Draft:
    """Take a repaired program over if it leaves the code, and what is demanded of it, alone."""
    faults = faults_of(program, code)
    for gate in (Gate.READABLE, Gate.LEAVES_TARGET_ALONE):
        if gate in faults:
            return _in_vain(draft, f"replace_program: {faults[gate]}")
    if _demands(draft) not in (None, demands_of(program)):
        return _in_vain(draft, "replace_program: it changes what the assertions demand")
    return draft.model_copy(update={"program": program})


def _demands(draft: Draft) -> Counter[str] | None:
    try:
        return demands_of(draft.program)
    except (SyntaxError, ValueError, RecursionError):
        return None  # whatever it meant to demand, nobody can read it


def _in_vain(draft: Draft, attempt: str) -> Draft:
    return draft.model_copy(update={"attempts": (*draft.attempts, attempt[:300])})
