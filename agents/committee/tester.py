"""The tester, which runs, repairs, validates and confirms the test programs of a pair."""

from agents.committee.trace import Trace
from agents.evidence import Attempt, Draft, RunEvidence, was_executed
from agents.gates.gates import can_be_improved, reason_of
from agents.gates.validator import OracleValidator
from agents.roles.fixer import Fixer
from agents.roles.writer import BlindWriter, Writer
from infra.languages import Language
from infra.records import Pair
from sandbox.base import Box, Sandbox


class Tester:
    """Tests unclear pairs, each in a box of its own (the executor of CoSQA+, Algorithm 1).

    Args:
        sandbox: Where programs run.
        language: The language of the code under test.
        rounds: Rounds of repair for each program.
        validator: Checks programs; None where one is evidence because it was executed.
    """

    def __init__(
        self,
        *,
        sandbox: Sandbox,
        language: Language,
        rounds: int,
        validator: OracleValidator | None,
    ) -> None:
        self._sandbox = sandbox
        self._language = language
        self._rounds = rounds
        self._validator = validator

    async def test(self, pair: Pair, draft: Draft, trace: Trace) -> tuple[Attempt, ...]:
        """Return the test programs on which the pair is to be judged, in their last form.

        Under the gates a program that is no evidence is written once more, with the reason, if
        another could do better; a failing assertion brings in a second program, by a writer that
        has not seen the code.

        Args:
            pair: The pair.
            draft: The first program.
            trace: Gets every execution.
        """
        async with self._sandbox.box(self._language.scaffolded(pair.code.text)) as box:
            first = await self._attempt(pair, draft, box, trace)
            if first.report and can_be_improved(first.report):
                reason = reason_of(first.report)
                better = await Writer(trace.model).rewrite(pair, first.draft, reason)
                first = await self._attempt(pair, better, box, trace)
            if not (first.is_valid and first.evidence is RunEvidence.FAILED_ASSERTION):
                return (first,)
            blind = await BlindWriter(trace.model, self._language).write(pair)
            installed = {"requirements": first.draft.requirements}
            second = await self._attempt(pair, blind.model_copy(update=installed), box, trace)
            return first, second

    async def _attempt(self, pair: Pair, draft: Draft, box: Box, trace: Trace) -> Attempt:
        """Run a program; repair it and run it again while it cannot be executed."""
        fixer = Fixer(trace.model)
        attempt = await self._run(pair, draft, box, trace)
        for _ in range(self._rounds):
            if attempt.result is None or was_executed(attempt.result):
                break
            fixed = await fixer.fix(pair, attempt.draft, attempt.result, box)
            if fixed is None:
                break
            if fixed.runs_like(attempt.draft):
                attempt = attempt.model_copy(update={"draft": fixed})
            else:
                rerun = await self._run(pair, fixed, box, trace)
                attempt = rerun.model_copy(update={"is_fixed": True})
        return attempt

    async def _run(self, pair: Pair, draft: Draft, box: Box, trace: Trace) -> Attempt:
        """Run a program and, if it was executed, validate it; the run is kept in any case."""
        result = await box.run(draft.program)
        report = None
        try:
            if self._validator and was_executed(result):
                report = await self._validator.validate(pair, draft, result, box)
        finally:
            trace.add_execution(draft, result, report)
        return Attempt(draft=draft, result=result, report=report)
