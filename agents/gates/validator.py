"""The gates: a test program must earn the word evidence before its result counts."""

from agents.evidence import Draft, Standing, standing_of
from agents.gates.gates import Gate
from agents.gates.mutation import Mutant, crude_mutants_of, mutants_of
from agents.gates.static_checks import faults_of
from infra.languages.python.scaffolding import scaffolded
from infra.records import ExecutionResult, OracleReport, Pair, Trial
from infra.settings import GateSettings
from sandbox.base import Box

_OTHER_HASH_SEED = 1
_OTHER_CLOCK = 1_740_787_195.0  # 2025-02-28T23:59:55Z: in the past, as file times must not be
_COUNTS = {"outcome", "error_type", "tests_run", "asserts_executed", "target_calls"}


class Gatekeeper:
    """Inspects test programs that ran, in the box where they ran.

    Args:
        settings: How many mutants, how long each may take, and how many must fall.
    """

    def __init__(self, settings: GateSettings) -> None:
        self._settings = settings

    async def inspect(
        self, pair: Pair, draft: Draft, result: ExecutionResult, box: Box
    ) -> OracleReport:
        """Return what the program failed, the cheap gates first; ``SandboxError`` if the box did.

        A program whose assertion fails on the code itself meets no mutants: it would fail on each.
        """
        faults = faults_of(draft.program, pair.code.text) | _faults_of_run(result)
        if not faults:
            faults |= await self._faults_of_repetition(draft, result, box)
        if faults or standing_of(result) is not Standing.PASSED:
            return OracleReport(faults=faults)
        report = await self._try_mutants(pair.code.text, draft, box)
        return report.model_copy(update={"faults": self._faults_of_trials(report)})

    async def _faults_of_repetition(
        self, draft: Draft, result: ExecutionResult, box: Box
    ) -> dict[Gate, str]:
        again = await box.run(draft.program, hash_seed=_OTHER_HASH_SEED, clock=_OTHER_CLOCK)
        if again.model_dump(include=_COUNTS) == result.model_dump(include=_COUNTS):
            return {}
        ends = f"{result.outcome} with {result.asserts_executed} asserts, then {again.outcome} "
        return {Gate.REPEATS: f"two runs differ: {ends}with {again.asserts_executed}"}

    async def _try_mutants(self, code: str, draft: Draft, box: Box) -> OracleReport:
        """Try the program on mutants, on crude ones too where the others cannot prove it."""
        settings = self._settings
        mutants = mutants_of(code, settings.mutants)
        tried = [await self._try(mutant, draft, box) for mutant in mutants]
        report = OracleReport(trials=tuple(tried))
        if report.judged >= settings.least_killed:
            return report
        for mutant in crude_mutants_of(code, settings.mutants):
            if report.killed >= settings.least_killed:
                break
            trial = await self._try(mutant, draft, box)
            report = OracleReport(trials=(*report.trials, trial))
        return report

    async def _try(self, mutant: Mutant, draft: Draft, box: Box) -> Trial:
        result = await box.run(
            draft.program,
            code=scaffolded(mutant.code),
            timeout_s=self._settings.mutant_timeout_s,
        )
        change = f"line {mutant.line}: {mutant.change}"
        return Trial(change=change, outcome=result.outcome)

    def _faults_of_trials(self, report: OracleReport) -> dict[Gate, str]:
        settings, score = self._settings, report.mutation_score or 0.0
        if report.killed >= settings.least_killed and score >= settings.least_score:
            return {}
        seen = f"{report.killed} of {report.judged}"
        return {Gate.KILLS_MUTANTS: f"only {seen} broken versions failed it"}


def _faults_of_run(result: ExecutionResult) -> dict[Gate, str]:
    if standing_of(result) is Standing.NOT_EXECUTED:
        return {Gate.RUNS_TO_ITS_END: f"{result.outcome}: {result.message}"}
    faults = {}
    if not result.target_calls:
        faults[Gate.CALLS_TARGET] = "no function of the code under test was called"
    if not result.asserts_executed:
        faults[Gate.EXECUTES_ASSERTS] = "no assertion was reached"
    return faults
