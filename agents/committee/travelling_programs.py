"""Accepted programs that travel: what tested one candidate is run on the others of its query.

A program was written for one code's interface, so its outcome on another says that labels
contradict, and never which one is wrong. No model is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.claims.program import is_claims_program
from agents.committee.other_code import OtherCode
from agents.evidence import Draft, RunEvidence, evidence_of
from agents.gates.outcomes import outcome_of
from agents.gates.validator import OracleValidator
from infra.identity import mark_of
from infra.languages import Language
from infra.languages.python.retargeting import MisfitError, retargeted
from infra.program_outcomes import FAILS, NOT_RUN, PASSES, program_name
from infra.records import Annotation, Code, ExecutionResult, OracleReport, Pair, Record
from sandbox.base import Box

_LONGEST_REASON = 300  # characters


class _NoEvidenceError(Exception):
    """A run says nothing about the code; the message says why."""


class AcceptedProgram(Record):
    """A test program by which a code was found to be an answer.

    Attributes:
        code: The code that it was written for.
        text: The program.
        requirements: What was installed for it.
        protection: Of the verdict, as in `infra.records.OracleReport`.
    """

    code: Code
    text: str
    requirements: tuple[str, ...]
    protection: str


@dataclass(frozen=True)
class ProgramRuns:
    """How programs are run on other candidates.

    Attributes:
        validator: Checks a program on another code as it does on its own.
        made_by: What outcomes depend on beside program and code.
        known: Name of a program and id of a code → outcome, of earlier comparisons.
    """

    validator: OracleValidator
    made_by: str = ""
    known: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def name_of(self, program: AcceptedProgram) -> str:
        """Return the name of a program and of what its outcomes depend on."""
        parts = [program.text, sorted(program.requirements), self.made_by]
        return program_name(program.code.code_id, mark_of(parts))

    async def outcome_on(
        self, program: AcceptedProgram, pair: Pair, box: Box, language: Language
    ) -> str:
        """Return what a program says of a candidate, from an earlier comparison if there is one.

        Args:
            program: The program.
            pair: The query and the candidate.
            box: Has what program and candidate require.
            language: The candidate's.

        Raises:
            SandboxError: The box failed.
        """
        if pair.code.code_id == program.code.code_id:
            return PASSES
        known = self.known.get((self.name_of(program), pair.code.code_id))
        if known is not None:
            return known
        try:
            text = retargeted(program.text, program.code.text, pair.code.text)
            view = OtherCode(box, language.scaffolded(pair.code.text))
            return await self._outcome_of_run(program, text, pair, view)
        except (MisfitError, _NoEvidenceError) as error:
            return NOT_RUN + _on_a_line(str(error))

    async def _outcome_of_run(
        self, program: AcceptedProgram, text: str, pair: Pair, box: Box
    ) -> str:
        """Return what a run says that is as valid as any other; raise why it says nothing."""
        result = await box.run(text)
        outcome = outcome_of(result, text, pair.code.text)
        evidence = evidence_of(result, outcome)
        if evidence is RunEvidence.NOT_EXECUTED:
            raise _NoEvidenceError(f"{outcome.replace('_', ' ')}: {_told(result)}")
        draft = Draft(reading="", program=text, requirements=program.requirements)
        report = await self.validator.validate(pair, draft, result, box)
        if report.faults:
            raise _NoEvidenceError(
                "; ".join(f"{gate}: {why}" for gate, why in report.faults.items())
            )
        if evidence is RunEvidence.PASSED:
            _refuse_less_protection(program, report)
            return PASSES
        if not _holds_something(result):
            raise _NoEvidenceError(f"no assertion holds, as if called otherwise: {_told(result)}")
        return FAILS + _told(result)


def accepted_program(pair: Pair, annotation: Annotation) -> AcceptedProgram | None:
    """Return the program that decided that a pair is a match, None where none did.

    It passed all gates on its own code, and so failed on broken versions of it.
    """
    runs = [run for run in annotation.executions if not is_claims_program(run.program)]
    if annotation.label != 1 or annotation.support != "valid_oracle" or not runs:
        return None
    last = runs[-1]
    is_valid = last.oracle is not None and not last.oracle.faults and last.oracle.killed
    if last.result.outcome != "passed" or last.oracle is None or not is_valid:
        return None
    return AcceptedProgram(
        code=pair.code,
        text=last.program,
        requirements=last.requirements,
        protection=last.oracle.protection,
    )


def _refuse_less_protection(program: AcceptedProgram, report: OracleReport) -> None:
    """Refuse that a code passes which escapes the protection that the program's own one had."""
    if program.protection == "separate" and report.protection != "separate":
        raise _NoEvidenceError(f"the code cannot be kept apart: {report.unprotected_because}")


def _holds_something(result: ExecutionResult) -> bool:
    """Return whether an assertion held: a code that holds none may have been called wrongly."""
    failed = sum(case.outcome == "assertion_failed" for case in result.tests)
    if not result.tests:
        failed = result.outcome == "assertion_failed"
    return (result.asserts_executed or 0) > failed


def _told(result: ExecutionResult) -> str:
    told = f"{result.error_type}: {result.message}" if result.error_type else result.message
    return _on_a_line(told or result.outcome)


def _on_a_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_REASON]
