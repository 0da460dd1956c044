"""The bug fixer of queries that are specified: it may also add imports to the code under test."""

from typing import Literal

from agents.evidence import Draft, FailedFix
from agents.gates.outcomes import catches_of
from agents.roles.fixer import Fixer, Repair, failed
from infra.languages.python.imports import import_statements, names_bound_by, with_imports
from infra.languages.python.scaffolding import lacking_names
from infra.records import ExecutionResult, Pair
from sandbox.base import Box

_TO_CODE: Literal["add_import_to_code"] = "add_import_to_code"


class SpecifiedRepair(Repair):
    """One action, proposed by the model."""

    action: Literal["install", "add_import", "add_import_to_code", "replace_program", "give_up"]  # type: ignore[assignment]  # one more than in the other


class SpecifiedFixer(Fixer):
    """Repairs what is missing around program and code, and the program's own faults.

    An earlier repair that was done and did not help is told with the error that followed. A
    repaired program catches no more of what the code raises than it did before.
    """

    text = "specified_fixer"
    reply_type = SpecifiedRepair

    async def fix(
        self, pair: Pair, draft: Draft, result: ExecutionResult, box: Box
    ) -> Draft | None:
        """Return the draft after one round of repair; see `Fixer.fix`."""
        return await super().fix(pair, _with_last_fix(draft, result), result, box)

    async def _apply(self, repair: Repair, draft: Draft, code: str, box: Box) -> Draft | None:
        if str(repair.action) == _TO_CODE:
            return _with_imports_of_code(repair.content.strip(), draft, code)
        if repair.action == "replace_program":
            known = len(catches_of(draft.program, code))
            more = catches_of(repair.content, code)
            if len(more) > known:
                problem = f"{more[-1]}, which would hide what the code does"
                return failed(draft, "replace_program", "", problem)
        return await super()._apply(repair, draft, code, box)


def _with_last_fix(draft: Draft, result: ExecutionResult) -> Draft:
    """Return the draft with its last repair among those in vain, if it was done all the same."""
    if not draft.repairs or not draft.repairs[-1].ok:
        return draft
    action, _, content = draft.repairs[-1].command.partition(" ")
    problem = f"done, but it ended by {result.error_type or result.outcome}: {result.message}"
    fix = FailedFix.model_validate({"action": action, "content": content, "problem": problem})
    return draft.model_copy(update={"failed_fixes": (*draft.failed_fixes, fix)})


def _with_imports_of_code(lines: str, draft: Draft, code: str) -> Draft:
    """Return the draft whose code under test gets imports, of names that it lacks and no others."""
    try:
        statements = import_statements(lines)
        lacking = lacking_names(with_imports(code, draft.code_imports))
    except (SyntaxError, ValueError) as error:
        return failed(draft, _TO_CODE, repr(lines), str(error))
    bound = {name for statement in statements for name in names_bound_by(statement)}
    if others := bound - lacking:
        problem = f"{min(others)} is no name that the code lacks"
        return failed(draft, _TO_CODE, repr(lines), problem)
    imports = f"{draft.code_imports}\n{lines}".strip()
    return draft.model_copy(update={"code_imports": imports}).with_repair(f"{_TO_CODE} {lines}")
