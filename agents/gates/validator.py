"""The validator of oracles, which checks executed test programs by all gates."""

from collections.abc import Sequence

from agents.evidence import Draft, RunEvidence, run_evidence
from agents.gates.gates import Gate
from agents.gates.static_checks import faults_of, sets_on_target
from infra.identity import mark
from infra.languages import Language, Mutant
from infra.records import ExecutionResult, MutantRun, OracleReport, Pair
from infra.settings import GateSettings
from sandbox.base import NOT_SEPARABLE, Box

MAY_BE_EMPTY = "the code may return empty containers: demand what is in them, and how much"
_OTHER_HASH_SEED = 1
_OTHER_CLOCK = 1_740_787_195.0  # 2025-02-28T23:59:55Z: in the past, as file times must not be
_COUNTS = {"outcome", "error_type", "tests_run", "asserts_executed", "target_calls"}


class OracleValidator:
    """Checks whether test programs are valid oracles, in the box where they were executed.

    Args:
        settings: How many mutants, how long each may take, and how many must be killed.
        language: The language of the code under test.
        scaffolding: Whether mutants get the imports and stand-ins that they lack.
    """

    def __init__(
        self, settings: GateSettings, language: Language, *, scaffolding: bool = True
    ) -> None:
        self._settings = settings
        self._language = language
        self._scaffolding = scaffolding

    async def validate(
        self, pair: Pair, draft: Draft, result: ExecutionResult, box: Box
    ) -> OracleReport:
        """Return the gates that the program fails, cheap ones first; raise what the box raises.

        A program whose assertion fails on the code itself is not run on mutants: it would fail on
        each.
        """
        evidence = self._evidence_of(pair, draft, result)
        faults = faults_of(draft.program, pair.code.text) | _faults_of_run(result, evidence)
        if not faults:
            faults |= await self._faults_of_repetition(draft, result, box)
        if faults or evidence is not RunEvidence.PASSED:
            return OracleReport(faults=faults)
        report, faults = await self._run_on_mutants(pair.code.text, draft, result, box)
        faults = faults or self._faults_of_mutant_runs(report)
        if faults := faults or await self._faults_of_emptiness(pair.code.text, draft, box):
            return report.model_copy(update={"faults": faults})
        return report.model_copy(update=await self._run_apart(draft, result, box))

    def _evidence_of(
        self,
        pair: Pair,  # noqa: ARG002 - of validators that tell outcomes apart
        draft: Draft,  # noqa: ARG002 - as above
        result: ExecutionResult,
    ) -> RunEvidence:
        return run_evidence(result)

    def _mutants_of(self, code: str) -> Sequence[Mutant]:
        return self._language.mutants_of(code, self._settings.mutants)

    def _needs_strong_mutants(self, report: OracleReport) -> bool:
        return report.judged < self._settings.min_killed

    async def _run_apart(
        self, draft: Draft, result: ExecutionResult, box: Box
    ) -> dict[str, object]:
        """Return what the report says of a run with the code under test in its own process."""
        apart = await box.run(draft.program, apart=True)
        if apart.outcome == "raised" and apart.error_type == NOT_SEPARABLE:
            return {"protection": "shared", "unprotected_because": apart.message[:500]}
        if _what_was_tested(apart) == _what_was_tested(result):
            return {"protection": "separate"}
        if place := sets_on_target(draft.program):
            return {"protection": "shared", "unprotected_because": place[:500]}
        ends = f"{apart.outcome}: {apart.message}" if apart.message else apart.outcome
        fault = f"with the code under test in a process of its own the program ends by {ends}"
        return {"faults": {Gate.PASSES_APART: fault}}

    async def _faults_of_repetition(
        self, draft: Draft, result: ExecutionResult, box: Box
    ) -> dict[Gate, str]:
        again = await box.run(draft.program, hash_seed=_OTHER_HASH_SEED, clock=_OTHER_CLOCK)
        if _what_repeats(again) == _what_repeats(result):
            return {}
        ends = f"{result.outcome} with {result.asserts_executed} asserts, then {again.outcome} "
        return {Gate.REPEATS: f"two runs differ: {ends}with {again.asserts_executed}"}

    async def _run_on_mutants(
        self, code: str, draft: Draft, result: ExecutionResult, box: Box
    ) -> tuple[OracleReport, dict[Gate, str]]:
        """Run the program on mutants, on strong ones where too few of the others ran, and between.

        Where that is, the control, follows from the program, which cannot know it by counting.
        """
        mutants = self._mutants_of(code)
        place = int(mark(draft.program), 16) % (len(mutants) + 1)
        runs = [await self._run_on(mutant, draft, box) for mutant in mutants[:place]]
        faults = await self._faults_of_control(code, draft, result, box)
        if faults:
            return OracleReport(trials=tuple(runs)), faults
        runs += [await self._run_on(mutant, draft, box) for mutant in mutants[place:]]
        report = OracleReport(trials=tuple(runs))
        return await self._run_on_strong_mutants(code, draft, report, box), {}

    async def _run_on_strong_mutants(
        self, code: str, draft: Draft, report: OracleReport, box: Box
    ) -> OracleReport:
        """Add runs on strong mutants where too few of the others ran."""
        settings = self._settings
        if not self._needs_strong_mutants(report):
            return report
        for mutant in self._language.strong_mutants_of(code, settings.mutants):
            if report.killed >= settings.min_killed:
                break
            run = await self._run_on(mutant, draft, box)
            report = OracleReport(trials=(*report.trials, run))
        return report

    async def _faults_of_control(
        self, code: str, draft: Draft, result: ExecutionResult, box: Box
    ) -> dict[Gate, str]:
        """Return whether the program ends otherwise on the same code in another text.

        It may take as long as the first run, which sets this run apart from those on mutants.
        """
        control = self._language.control_of(code)
        run = await box.run(draft.program, code=self._module_of(control, draft))
        if _what_repeats(run) == _what_repeats(result):
            return {}
        told = f"the same code, spelt otherwise, ended with {run.outcome}, not {result.outcome}"
        return {Gate.IGNORES_SPELLING: f"{told}; test what it does, not how it is written"}

    async def _faults_of_emptiness(self, code: str, draft: Draft, box: Box) -> dict[Gate, str]:
        """Return whether a program passes where nothing is returned in place of something."""
        for emptied, telling in self._language.emptied_of(code):
            if (await self._run_on(emptied, draft, box)).outcome != "passed":
                continue
            if (await self._run_on(telling, draft, box)).outcome != "passed":
                return {Gate.KILLS_MUTANTS: MAY_BE_EMPTY}
        return {}

    async def _run_on(self, mutant: Mutant, draft: Draft, box: Box) -> MutantRun:
        result = await box.run(
            draft.program,
            code=self._module_of(mutant.code, draft),
            timeout_s=self._settings.mutant_timeout_s,
        )
        change = f"line {mutant.line}: {mutant.change}"
        return MutantRun(change=change, outcome=result.outcome)

    def _module_of(self, code: str, draft: Draft) -> str:
        return self._language.with_beside(code, draft.beside, scaffolding=self._scaffolding)

    def _faults_of_mutant_runs(self, report: OracleReport) -> dict[Gate, str]:
        settings, score = self._settings, report.mutation_score or 0.0
        if report.killed >= settings.min_killed and score >= settings.min_mutation_score:
            return {}
        killed = f"{report.killed} of {report.judged}"
        return {Gate.KILLS_MUTANTS: f"only {killed} broken versions failed it"}


def _what_repeats(result: ExecutionResult) -> tuple[object, ...]:
    """Return what two runs of one program have in common."""
    return result.model_dump(include=_COUNTS), _outcomes(result)


def _what_was_tested(result: ExecutionResult) -> tuple[object, ...]:
    """Return what a run has in common with one beside the code; calls within it are not seen."""
    return result.outcome, result.tests_run, result.asserts_executed, _outcomes(result)


def _outcomes(result: ExecutionResult) -> list[tuple[str, str]]:
    return [(one.name, one.outcome) for one in result.tests]


def _faults_of_run(result: ExecutionResult, evidence: RunEvidence) -> dict[Gate, str]:
    """Return what a run lacks; where the code raised, the assertion may not have been reached."""
    if evidence is RunEvidence.NOT_EXECUTED:
        return {Gate.RUNS_TO_ITS_END: f"{result.outcome}: {result.message}"}
    faults = {}
    if not result.target_calls:
        faults[Gate.CALLS_TARGET] = "no function of the code under test was called"
    if not result.asserts_executed and evidence is not RunEvidence.CODE_RAISED:
        faults[Gate.EXECUTES_ASSERTS] = "no assertion was reached"
    return faults
