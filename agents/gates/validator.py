"""The validator of oracles, which checks executed test programs by all gates."""

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from agents.evidence import Draft, RunEvidence, evidence_of
from agents.gates import Gate, ProgramRules
from infra.errors import MachineBusyError
from infra.identity import mark
from infra.languages import Language, Mutant
from infra.records import ExecutionResult, MutantRun, OracleReport, Outcome, Pair
from infra.settings import GateSettings
from sandbox.base import NOT_SEPARABLE, Box

_MAY_BE_EMPTY = "the code may return empty containers: demand what is in them, and how much"
_IS_EMPTY = "the code returns empty containers alone: demand that, by == [] or len(…) == 0"
_CHANGED = "the code changes arguments, of which expected values are made: make these before"
_BY_STUBS = "it fails by what an agent put beside the code: by other stand-ins it ends otherwise"
_ON_STUBS = "the program tests what stands beside the code, and nothing of the code itself"
_JUDGED = 3  # versions with something for nothing; where one of the others passes, all is said
_OTHER_HASH_SEED = 1
_OTHER_CLOCK = 1_740_787_195.0  # 2025-02-28T23:59:55Z: in the past, as file times must not be
_OF_RESULTS = ("return", "answer")  # kinds of mutants
_COUNTS = {"outcome", "error_type", "tests_run", "asserts_executed", "target_calls"}
_FEWEST_MUTANTS = 12  # where the code has so many: of fewer the score says little
_SPARE = 2  # times as many are made, since some change nothing that counts
_TIMES_AS_LONG = 10  # a mutant may take as the program's first run, and no less than the settings'


class ProgramRun(NamedTuple):
    """The run that is validated."""

    code: str  # under test
    draft: Draft
    result: ExecutionResult
    box: Box
    limit: float  # seconds for a run on a mutant


@dataclass(frozen=True)
class OracleValidator:
    """Checks whether test programs are valid oracles, in the box where they were executed.

    - Errors by the code's own logic, where a value is expected, are outcomes to validate.
    - Mutants that change but the wording of exceptions and log entries are left out, and at least
      twelve are run where the code has so many.
    - Too few mutants are killed where their share of all that ran to an end but for one survivor is
      below the minimum: no single survivor speaks against a program.
    """

    settings: GateSettings
    language: Language
    rules: ProgramRules
    scaffolding: bool = True

    async def validate(
        self,
        pair: Pair,
        draft: Draft,
        result: ExecutionResult,
        box: Box,
        by_stubs: Collection[str] | None = None,
    ) -> OracleReport:
        """Return the gates that the program fails, cheap ones first.

        A program that fails on the code itself is not run on mutants: it would fail on each.
        Whoever knows its `failures_by_stubs` gives them, so that these are not run again.
        """
        rules, code = self.rules, pair.code.text
        outcome = rules.outcome_of(result, draft.program, code, draft.support_code)
        evidence = evidence_of(result, outcome)
        faults = rules.faults_of(draft.program, code) | _faults_of_run(result, evidence)
        limit = max(self.settings.mutant_timeout_s, _TIMES_AS_LONG * result.seconds)
        run = ProgramRun(code, draft, result, box, limit)
        if not faults:
            faults |= await self._faults_of_repetition(run)
        if not faults and by_stubs is None:
            by_stubs = await self.failures_by_stubs(pair, draft, result, box)
        if not faults and by_stubs:
            faults = {Gate.KILLS_MUTANTS: _BY_STUBS}
        if faults or evidence is not RunEvidence.PASSED:
            return OracleReport(faults=faults)
        report, faults = await self._run_on_mutants(run)
        judged = report.judged
        if not faults and (faults := self._faults_of_mutant_runs(report, judged)):
            report = await self._drop_unreached(report, run)
            faults = self._faults_of_mutant_runs(report, judged)
        is_blind = Gate.KILLS_MUTANTS in faults and not report.killed
        if is_blind and await self._rests_on_stubs(run):
            return OracleReport(faults={Gate.KILLS_MUTANTS: _ON_STUBS})
        if faults := faults or await self._faults_of_emptiness(run):
            return report.model_copy(update={"faults": faults})
        return report.model_copy(update=await self._run_apart(run))

    async def failures_by_stubs(
        self, pair: Pair, draft: Draft, result: ExecutionResult, box: Box
    ) -> frozenset[str]:
        """Return the failed tests that end otherwise with other stubs in place of made up ones.

        A failure outside of tests has no name.
        """
        failed = _failures(result)
        same = failed
        for other in self.rules.stubs.substitutes(draft.support_code) if failed else ():
            code = self._module_of(pair.code.text, other)
            same = same & _failures(await box.run(draft.program, code=code))
        return frozenset(name for name, *_ in failed - same)

    def _own_mutants(self, mutants: Sequence[Mutant], draft: Draft) -> list[Mutant]:
        """Return mutants, where stubs may do the work without those that drop what they give."""
        left_out = _OF_RESULTS if self.rules.stubs.substitutes(draft.support_code) else ()
        return [mutant for mutant in mutants if mutant.kind not in left_out]

    async def _run_apart(self, run: ProgramRun) -> dict[str, object]:
        """Return the report's fields for a run with the code under test in its own process."""
        program, box = run.draft.program, run.box
        apart = await box.run(program, isolated=True)
        if apart.outcome == "raised" and apart.error_type == NOT_SEPARABLE:
            return {"protection": "shared", "unprotected_because": apart.message[:500]}
        if _tested_result(apart) == _tested_result(run.result):
            if self.rules.expects_by_arguments(program, run.code):
                copied = await box.run(program, isolated="on_copies")
                if _tested_result(copied) != _tested_result(run.result):
                    return {"faults": {Gate.PASSES_APART: _CHANGED}}
            return {"protection": "separate"}
        if place := self.rules.sets_on_modules(program):
            return {"protection": "shared", "unprotected_because": place[:500]}
        ends = f"{apart.outcome}: {apart.message}" if apart.message else apart.outcome
        fault = f"with the code under test in a process of its own the program ends by {ends}"
        return {"faults": {Gate.PASSES_APART: fault}}

    async def _faults_of_repetition(self, run: ProgramRun) -> dict[Gate, str]:
        program, result = run.draft.program, run.result
        again = await run.box.run(program, hash_seed=_OTHER_HASH_SEED, clock=_OTHER_CLOCK)
        if _repeatable_result(again) == _repeatable_result(result):
            return {}
        ends = f"{result.outcome} with {result.asserts_executed} asserts, then {again.outcome} "
        return {Gate.REPEATS: f"two runs differ: {ends}with {again.asserts_executed}"}

    async def _run_on_mutants(self, run: ProgramRun) -> tuple[OracleReport, dict[Gate, str]]:
        """Run the program on mutants, on strong ones where too few of the others fell.

        Between them it is run on the control, the same code in another text, at a place that it
        cannot know by counting.
        """

        async def mutant_run(mutant: Mutant) -> MutantRun:
            change = f"line {mutant.line}: {mutant.change}"
            outcome: Outcome = "timeout"
            with contextlib.suppress(MachineBusyError):  # twice: its end says nothing
                outcome = await self._run_on(mutant.code, run)
            return MutantRun(line=mutant.line, change=change, outcome=outcome)

        code, draft = run.code, run.draft
        limit = max(_FEWEST_MUTANTS, self.settings.mutants)
        plain = self.rules.without_messages(code)
        made = self._own_mutants(self.language.mutants_of(code, _SPARE * limit), draft)
        matter = (mutant for mutant in made if self.rules.without_messages(mutant.code) != plain)
        mutants = tuple(islice(matter, limit))
        place = int(mark(draft.program), 16) % (len(mutants) + 1)
        runs = [await mutant_run(mutant) for mutant in mutants[:place]]
        control = self._module_of(self.language.renamed_equivalent(code), draft.support_code)
        again = await run.box.run(draft.program, code=control)
        if _repeatable_result(again) != _repeatable_result(run.result):
            ends = f"ended with {again.outcome}, not {run.result.outcome}"
            fault = (
                f"the same code, spelt otherwise, {ends}; test what it does, not how it is written"
            )
            return OracleReport(trials=tuple(runs)), {Gate.IGNORES_SPELLING: fault}
        runs += [await mutant_run(mutant) for mutant in mutants[place:]]
        report = OracleReport(trials=tuple(runs))
        if report.killed < self.settings.min_killed:
            strong = self.language.strong_mutants_of(code, self.settings.mutants)
            for mutant in self._own_mutants(strong, draft):
                report = OracleReport(trials=(*report.trials, await mutant_run(mutant)))
                if report.killed >= self.settings.min_killed:
                    break
        return report, {}

    async def _rests_on_stubs(self, run: ProgramRun) -> bool:
        """Return True if a mistake in the stubs fails a program that none in the code fails."""
        draft = run.draft
        for mutant in self.language.mutants_of(draft.support_code, self.settings.mutants):
            code = self._module_of(run.code, mutant.code)
            result = await run.box.run(draft.program, code=code, timeout_s=run.limit)
            if result.outcome == "assertion_failed":
                return True
        return False

    async def _faults_of_emptiness(self, run: ProgramRun) -> dict[Gate, str]:
        """Return the fault of a program that passes where nothing is returned for something."""

        async def fails(texts: Sequence[str]) -> bool:
            for text in texts:
                if await self._run_on(text, run) != "passed":
                    return True
            return False

        for way in ("empty", "empty inside"):
            emptied, telling = (
                self._returning(run.code, [way], tells=one) for one in (False, True)
            )
            if not await fails(emptied) and await fails(telling):
                looks = await fails(self._returning(run.code, self.language.unseen))
                return {Gate.KILLS_MUTANTS: _MAY_BE_EMPTY} if looks else {}
        return await self._faults_of_nothing(run)

    def _returning(self, code: str, ways: Sequence[str], *, tells: bool = False) -> list[str]:
        """Return code that returns otherwise in each way that there is for it."""
        try:
            made = [self.language.returning(code, way, tells=tells) for way in ways]
        except SyntaxError:
            return []
        return [text for text in made if text]

    async def _faults_of_nothing(self, run: ProgramRun) -> dict[Gate, str]:
        """Return the fault of a program that judges an always empty value, and does not ask so.

        One that passes whatever is in the value judges what else the code has done.
        """
        ends: list[str] = []
        code, program = run.code, run.draft.program
        telling = self._returning(code, ["full"], tells=True)
        for text in (*telling, *self._returning(code, self.language.filled)):
            module = self._module_of(text, run.draft.support_code)
            result = await run.box.run(program, code=module, timeout_s=run.limit)
            ends.append(result.outcome)
            if len(ends) < _JUDGED and result.outcome == "passed":
                return {}
        is_noticed = ends[_JUDGED - 1 :] == ["assertion_failed"]
        if not ends or is_noticed or self.rules.demands_emptiness(program, code):
            return {}
        return {Gate.KILLS_MUTANTS: _IS_EMPTY}

    async def _run_on(self, code: str, run: ProgramRun) -> Outcome:
        """Return the outcome of a program on changed code, within the limit."""
        module = self._module_of(code, run.draft.support_code)
        result = await run.box.run(run.draft.program, code=module, timeout_s=run.limit)
        is_by_value = result.outcome == "raised" and self.rules.raised_in_program(result)
        return "assertion_failed" if is_by_value else result.outcome

    def _module_of(self, code: str, stubs: str) -> str:
        return self.language.with_support_code(code, stubs, scaffolding=self.scaffolding)

    async def _drop_unreached(self, report: OracleReport, run: ProgramRun) -> OracleReport:
        """Return a report without survivors in lines that the program does not run on the code."""
        unseen: set[int] = set()
        for line in {one.line for one in report.trials if one.outcome == "passed"}:
            stopping = self.language.stopping_at(run.code, line)
            if stopping and await self._run_on(stopping, run) == "passed":
                unseen.add(line)
        left = (one for one in report.trials if one.outcome != "passed" or one.line not in unseen)
        return report.model_copy(update={"trials": tuple(left)})

    def _faults_of_mutant_runs(self, report: OracleReport, judged: int) -> dict[Gate, str]:
        """Return the fault of too few killed mutants: no single survivor is one.

        Args:
            report: The runs, all or those in lines that the program runs.
            judged: All mutants that ran to an end.
        """
        needed = min(self.settings.min_killed, max(judged - 1, 1))
        share = report.killed / max(report.judged - 1, 1)
        if report.killed >= needed and share >= self.settings.min_mutation_score:
            return {}
        killed = f"{report.killed} of {report.judged} versions of the code"
        return {Gate.KILLS_MUTANTS: f"only {killed} with one mistake each failed it"}


def _repeatable_result(result: ExecutionResult) -> tuple[object, ...]:
    """Return the fields that two runs of one program share."""
    return result.model_dump(include=_COUNTS), _outcomes(result)


def _tested_result(result: ExecutionResult) -> tuple[object, ...]:
    """Return the fields compared between in-process and isolated runs."""
    return result.outcome, result.tests_run, result.asserts_executed, _outcomes(result)


def _outcomes(result: ExecutionResult) -> list[tuple[str, str]]:
    return [(one.name, one.outcome) for one in result.tests]


def _failures(result: ExecutionResult) -> set[tuple[str, str, str]]:
    """Return the end of each failed test, or of the program outside of them."""
    ends = [(one.name, one.outcome, one.message) for one in result.tests if one.outcome != "passed"]
    is_outside = result.outcome != "passed" and not ends
    return {*ends, *([("", result.outcome, result.message)] if is_outside else [])}


def _faults_of_run(result: ExecutionResult, evidence: RunEvidence) -> dict[Gate, str]:
    """Return the faults of a run; an assertion may not be reached where the code raised."""
    if evidence is RunEvidence.NOT_EXECUTED:
        return {Gate.RUNS_TO_ITS_END: f"{result.outcome}: {result.message}"}
    faults = {}
    if not result.target_calls:
        faults[Gate.CALLS_TARGET] = "no function of the code under test was called"
    if not result.asserts_executed and evidence is not RunEvidence.CODE_RAISED:
        faults[Gate.EXECUTES_ASSERTS] = "no assertion was reached"
    return faults
