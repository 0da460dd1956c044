"""The validator of oracles, which checks executed test programs by all gates."""

from agents.evidence import Draft, RunEvidence, run_evidence
from agents.gates.gates import Gate
from agents.gates.static_checks import faults_of
from infra.languages import Language, Mutant
from infra.records import ExecutionResult, MutantRun, OracleReport, Pair
from infra.settings import GateSettings
from sandbox.base import Box

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
        self._scaffolded = language.scaffolded if scaffolding else str

    async def validate(
        self, pair: Pair, draft: Draft, result: ExecutionResult, box: Box
    ) -> OracleReport:
        """Return the gates that the program fails, cheap ones first; raise what the box raises.

        A program whose assertion fails on the code itself is not run on mutants: it would fail on
        each.
        """
        faults = faults_of(draft.program, pair.code.text) | _faults_of_run(result)
        if not faults:
            faults |= await self._faults_of_repetition(draft, result, box)
        if faults or run_evidence(result) is not RunEvidence.PASSED:
            return OracleReport(faults=faults)
        report = await self._run_on_mutants(pair.code.text, draft, box)
        return report.model_copy(update={"faults": self._faults_of_mutant_runs(report)})

    async def _faults_of_repetition(
        self, draft: Draft, result: ExecutionResult, box: Box
    ) -> dict[Gate, str]:
        again = await box.run(draft.program, hash_seed=_OTHER_HASH_SEED, clock=_OTHER_CLOCK)
        if _what_repeats(again) == _what_repeats(result):
            return {}
        ends = f"{result.outcome} with {result.asserts_executed} asserts, then {again.outcome} "
        return {Gate.REPEATS: f"two runs differ: {ends}with {again.asserts_executed}"}

    async def _run_on_mutants(self, code: str, draft: Draft, box: Box) -> OracleReport:
        """Run the program on mutants, and on strong ones where too few of the others ran."""
        settings = self._settings
        mutants = self._language.mutants_of(code, settings.mutants)
        runs = [await self._run_on(mutant, draft, box) for mutant in mutants]
        report = OracleReport(trials=tuple(runs))
        if report.judged >= settings.min_killed:
            return report
        for mutant in self._language.strong_mutants_of(code, settings.mutants):
            if report.killed >= settings.min_killed:
                break
            run = await self._run_on(mutant, draft, box)
            report = OracleReport(trials=(*report.trials, run))
        return report

    async def _run_on(self, mutant: Mutant, draft: Draft, box: Box) -> MutantRun:
        result = await box.run(
            draft.program,
            code=self._scaffolded(mutant.code),
            timeout_s=self._settings.mutant_timeout_s,
        )
        change = f"line {mutant.line}: {mutant.change}"
        return MutantRun(change=change, outcome=result.outcome)

    def _faults_of_mutant_runs(self, report: OracleReport) -> dict[Gate, str]:
        settings, score = self._settings, report.mutation_score or 0.0
        if report.killed >= settings.min_killed and score >= settings.min_mutation_score:
            return {}
        killed = f"{report.killed} of {report.judged}"
        return {Gate.KILLS_MUTANTS: f"only {killed} broken versions failed it"}


def _what_repeats(result: ExecutionResult) -> tuple[object, ...]:
    """Return what two runs of one program have in common."""
    return result.model_dump(include=_COUNTS), [(one.name, one.outcome) for one in result.tests]


def _faults_of_run(result: ExecutionResult) -> dict[Gate, str]:
    if run_evidence(result) is RunEvidence.NOT_EXECUTED:
        return {Gate.RUNS_TO_ITS_END: f"{result.outcome}: {result.message}"}
    faults = {}
    if not result.target_calls:
        faults[Gate.CALLS_TARGET] = "no function of the code under test was called"
    if not result.asserts_executed:
        faults[Gate.EXECUTES_ASSERTS] = "no assertion was reached"
    return faults
