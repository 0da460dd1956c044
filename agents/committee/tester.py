"""Where test programs are tried: run, mended, inspected, written anew, confirmed by a second."""

from agents.evidence import Draft, Evidence, Standing, Tested, standing_of
from agents.gates.gates import can_be_better, reason_of
from agents.gates.validator import Gatekeeper
from agents.roles.executor import Executor
from agents.roles.fixer import Fixer
from agents.roles.writer import Writer
from infra.languages.python.scaffolding import scaffolded
from infra.records import Pair
from sandbox.base import Box, Sandbox


class Laboratory:
    """Gathers the evidence on one unclear pair after another, in a box for each.

    Args:
        sandbox: Where programs run.
        writer: Writes them.
        executor: Runs them.
        fixer: Mends them.
        max_try_time: Rounds of mending for each program.
        gatekeeper: Inspects them; None where a program counts as evidence because it ran.
    """

    def __init__(
        self,
        *,
        sandbox: Sandbox,
        writer: Writer,
        executor: Executor,
        fixer: Fixer,
        max_try_time: int,
        gatekeeper: Gatekeeper | None,
    ) -> None:
        self._sandbox = sandbox
        self._writer = writer
        self._executor = executor
        self._fixer = fixer
        self._max_try_time = max_try_time
        self._gatekeeper = gatekeeper

    async def examine(self, pair: Pair, draft: Draft, evidence: Evidence) -> tuple[Tested, ...]:
        """Return the test programs on which the pair is to be judged, in their last form.

        Under the gates a void program is written once more, with the reason, if another could do
        better; a failing assertion brings in a second program, written without sight of the code.
        """
        async with self._sandbox.box(scaffolded(pair.code.text)) as box:
            first = await self._try(pair, draft, box, evidence)
            if first.oracle and can_be_better(first.oracle):
                reason = reason_of(first.oracle)
                draft = await self._writer.rewrite(pair, first.draft, reason, evidence)
                first = await self._try(pair, draft, box, evidence)
            if not (first.is_valid and first.standing is Standing.FAILED_ASSERTION):
                return (first,)
            blind = await self._writer.write_blind(pair, evidence)
            installed = {"requirements": first.draft.requirements}
            second = await self._try(pair, blind.model_copy(update=installed), box, evidence)
            return first, second

    async def _try(self, pair: Pair, draft: Draft, box: Box, evidence: Evidence) -> Tested:
        """Run a program, mend and run it again while it cannot be executed, then inspect it."""
        before = len(evidence.executions)
        result = await self._executor.run(draft, box, evidence)
        for _ in range(self._max_try_time):
            if standing_of(result) is not Standing.NOT_EXECUTED:
                break
            mended = await self._fixer.mend(pair, draft, result, box, evidence)
            if mended is None:
                break
            if not mended.runs_like(draft):
                result = await self._executor.run(mended, box, evidence)
            draft = mended
        tested = Tested(draft=draft, result=result, mended=len(evidence.executions) > before + 1)
        return await self._inspected(pair, tested, box, evidence)

    async def _inspected(self, pair: Pair, tested: Tested, box: Box, evidence: Evidence) -> Tested:
        ran = tested.result if tested.standing is not Standing.NOT_EXECUTED else None
        if self._gatekeeper is None or ran is None:
            return tested
        report = await self._gatekeeper.inspect(pair, tested.draft, ran, box)
        last = evidence.executions.pop()
        evidence.executions.append(last.model_copy(update={"oracle": report}))
        return tested.model_copy(update={"oracle": report})
