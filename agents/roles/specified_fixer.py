"""The bug fixer of queries that are specified: it hears of its repairs that did not help."""

from agents.evidence import Draft, FailedFix
from agents.gates.outcomes import catches_of
from agents.roles.fixer import Fixer, Repair, failed
from infra.records import ExecutionResult, Pair
from sandbox.base import Box


class SpecifiedFixer(Fixer):
    """Repairs what is missing around program and code, and the program's own faults.

    An earlier repair that was done and did not help is told with the error that followed. A
    repaired program catches no more of what the code raises than it did before.
    """

    text = "specified_fixer"

    async def fix(
        self, pair: Pair, draft: Draft, result: ExecutionResult, box: Box
    ) -> Draft | None:
        """Return the draft after one round of repair; see `Fixer.fix`."""
        return await super().fix(pair, _with_last_fix(draft, result), result, box)

    async def _apply(self, repair: Repair, draft: Draft, code: str, box: Box) -> Draft | None:
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
