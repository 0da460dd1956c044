"""The validator of oracles of queries that are specified: it tells outcomes and mutants apart."""

from collections.abc import Sequence
from itertools import islice

from agents.evidence import Draft, RunEvidence, evidence_of
from agents.gates.gates import Gate
from agents.gates.outcomes import outcome_of
from agents.gates.validator import OracleValidator
from infra.languages import Mutant
from infra.languages.python.messages import without_messages
from infra.records import ExecutionResult, OracleReport, Pair

_FEWEST_MUTANTS = 12  # where the code has so many: of fewer the score says little
_SPARE = 2  # times as many are made, since some change nothing that counts


class SpecifiedValidator(OracleValidator):
    """Checks programs as the other validator does, but asks for no more than a query can demand.

    - What the code raises by its own logic, where a value is demanded, is an outcome to validate.
    - Mutants that change but the wording of exceptions and log entries are left out, and at least
      twelve are run where the code has so many.
    - Too few mutants are killed only where the mutation score is surely below its minimum: where
      the upper end of its 95% confidence interval is. A mistake beside what the query demands may
      survive, so no single survivor speaks against a program: where few mutants run to an end,
      all but one of them are enough.
    """

    def _evidence_of(self, pair: Pair, draft: Draft, result: ExecutionResult) -> RunEvidence:
        outcome = outcome_of(result, draft.program, pair.code.text, draft.beside)
        return evidence_of(result, outcome)

    def _mutants_of(self, code: str) -> Sequence[Mutant]:
        limit = max(_FEWEST_MUTANTS, self._settings.mutants)
        plain = without_messages(code)
        made = self._language.mutants_of(code, _SPARE * limit)
        matter = (mutant for mutant in made if without_messages(mutant.code) != plain)
        return tuple(islice(matter, limit))

    def _needs_strong_mutants(self, report: OracleReport) -> bool:
        return report.killed < self._settings.min_killed

    def _faults_of_mutant_runs(self, report: OracleReport) -> dict[Gate, str]:
        settings, (low, high) = self._settings, report.mutation_interval or (0.0, 0.0)
        needed = min(settings.min_killed, max(report.judged - 1, 1))
        if report.killed >= needed and high >= settings.min_mutation_score:
            return {}
        killed = f"{report.killed} of {report.judged}"
        interval = f"95% confidence interval of the score {low:.2f} to {high:.2f}"
        return {Gate.KILLS_MUTANTS: f"only {killed} broken versions failed it ({interval})"}
