"""The executor: no model, only a box and a record of what happened in it."""

from agents.evidence import Draft, Evidence
from infra.records import Execution, ExecutionResult
from sandbox.base import Box


class Executor:
    """Runs test programs (CoSQA+, Algorithm 1)."""

    async def run(self, draft: Draft, box: Box, evidence: Evidence) -> ExecutionResult:
        """Return what happened to the program; ``SandboxError`` when the box itself failed."""
        result = await box.run(draft.program)
        execution = Execution(
            round=len(evidence.executions),
            program=draft.program,
            requirements=draft.requirements,
            result=result,
        )
        evidence.executions.append(execution)
        return result
