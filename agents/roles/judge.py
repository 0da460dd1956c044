"""The final arbiter, which sees test programs and their runs."""

from collections.abc import Iterator, Sequence

from agents.evidence import Attempt, RunEvidence
from agents.gates.gates import reason_of
from agents.llm.prompt import fence, pair_section, shorten
from agents.roles.base import Agent, Judgement, beside_section
from agents.roles.run_report import run_report
from infra.records import Pair

_MEANING_OF = {
    RunEvidence.PASSED: "The program ran to its end; every assertion that it reached held.",
    RunEvidence.TESTED_NOTHING: (
        "The program ran to its end but reached no assertion or called nothing of the code: "
        "it is no evidence. Judge by reading the code."
    ),
    RunEvidence.FAILED_ASSERTION: "An assertion failed: the code is wrong, or the test is.",
    RunEvidence.NOT_EXECUTED: (
        "The program could not be run to its end: it is no evidence. Judge by reading the code."
    ),
}
_NO_PROGRAM = "Its writer found no call of the code that could show it. Judge by reading the code."
_NOT_RUN = "The program was not run: it only shows what somebody who asked might expect."
_VOID = "The program proves nothing, whatever it says, and is no evidence:"
_CONFIRMED = (
    "Two programs that were written independently, the second without sight of the code, both fail "
    "an assertion: evidence against the code where the query demands what they assert."
)
_UNCONFIRMED = (
    "An assertion failed, but no second, independent program agrees: it does not count against the "
    "code. Judge by reading the code."
)
_LONGEST_REPORT = 8_000  # characters of its texts


class Arbiter(Agent[Judgement]):
    """Judges pairs by test programs and the reports of their runs (CoSQA+, Algorithm 1)."""

    role = "arbiter"
    reply_type = Judgement

    async def judge(self, pair: Pair, attempts: Sequence[Attempt]) -> Judgement:
        """Return the judgement; ``LanguageModelError`` when the model fails.

        Args:
            pair: The pair to judge.
            attempts: The test programs, independent of one another.
        """
        parts = [pair_section(pair, self._model.code_limit)]
        for attempt in attempts:
            parts += self._sections(pair, attempt)
        return await self._ask("\n".join((*parts, *self._meaning(attempts))))

    def _meaning(self, attempts: Sequence[Attempt]) -> Iterator[str]:
        """Yield what the reports mean; beside void programs that was written already."""
        last = attempts[-1]
        if not last.draft.program:
            yield _NO_PROGRAM
        elif last.result is None:
            yield _NOT_RUN
        elif is_confirmed(attempts):
            yield _CONFIRMED
        elif any(attempt.is_valid_failure for attempt in attempts):
            yield _UNCONFIRMED
        elif last.report is None or last.is_valid:
            yield _MEANING_OF[last.evidence]

    def _sections(
        self,
        pair: Pair,  # noqa: ARG002 - of arbiters who are told whose fault a failure was
        attempt: Attempt,
    ) -> Iterator[str]:
        """Yield the program, its report and its faults; unknown counts are left out."""
        limit = self._model.code_limit
        yield fence("reading of the query that is tested", attempt.draft.reading)
        if not attempt.draft.program:
            return
        yield fence("program", shorten(attempt.draft.program, limit))
        yield from beside_section(attempt.draft.beside)
        if attempt.result:
            yield fence("report", run_report(attempt, min(limit, _LONGEST_REPORT)))
        if attempt.report and attempt.report.faults:
            yield f"{_VOID}\n{fence('faults', shorten(reason_of(attempt.report), limit))}"


def is_confirmed(attempts: Sequence[Attempt]) -> bool:
    """Return whether two independent, valid programs both speak against the code."""
    return sum(attempt.is_valid_failure for attempt in attempts) > 1
