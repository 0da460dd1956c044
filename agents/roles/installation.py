"""The distribution that a program lacks, by the error of its run."""

from agents.evidence import Draft
from infra.records import ExecutionResult
from sandbox.packages.resolve import distribution_for

_TARGET = "target"


def missing_requirement(draft: Draft, result: ExecutionResult) -> str | None:
    """Return the distribution that a run lacked, None if it was installed or tried already."""
    module = result.missing_module
    if not module or module == _TARGET:
        return None
    requirement = distribution_for(module)
    tried = {fix.content for fix in draft.failed_fixes if fix.action == "install"}
    return None if requirement in tried.union(draft.requirements) else requirement
