"""The final arbiter: weighs the query, the code, the programs and the reports of their runs."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal

from agents.evidence import Evidence, Standing, Tested
from agents.gates.gates import reason_of
from agents.llm.client import Model
from agents.llm.prompt import Prompt, fence, question_of, shorten, system_text
from agents.llm.structured_output import Reply
from infra.records import Pair, Role

_MEANING = {
    Standing.PASSED: "The program ran to its end; every assertion that it reached held.",
    Standing.TESTED_NOTHING: (
        "The program ran to its end but reached no assertion or called nothing of the code: "
        "it is no evidence. Judge by reading the code."
    ),
    Standing.FAILED_ASSERTION: "An assertion failed: the code is wrong, or the test is.",
    Standing.NOT_EXECUTED: (
        "The program could not be run to its end: it is no evidence. Judge by reading the code."
    ),
}
_NOT_RUN = "The program was not run: it only shows what somebody who asked might expect."
_IMAGINED = "Nothing was run: a model predicted this report, and may be wrong."
_VOID = "The program proves nothing, whatever it says, and is no evidence:"
_CONFIRMED = (
    "Two programs that were written independently, the second without sight of the code, both fail "
    "an assertion: evidence against the code where the query demands what they assert."
)
_UNCONFIRMED = (
    "An assertion failed, but no second, independent program agrees: it does not count against the "
    "code. Judge by reading the code."
)
_SHOWN = {"outcome", "error_type", "message", "tests_run", "asserts_executed", "target_calls"}
_LONGEST_REPORT = 2_000


class Judgement(Reply):
    """The last word."""

    reason: str
    verdict: Literal["answers", "does_not_answer"]


class Arbiter:
    """Judges pairs by their evidence (CoSQA+, Algorithm 1), or by reading where there is none."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def read(self, pair: Pair, evidence: Evidence) -> Judgement:
        """Return a judgement by reading alone; ``LanguageModelError`` when the model fails."""
        return await self._ask("judge", question_of(pair, self._model.code_limit), evidence)

    async def judge(self, pair: Pair, programs: Sequence[Tested], evidence: Evidence) -> Judgement:
        """Return the judgement; ``LanguageModelError`` when the model fails.

        Args:
            pair: The pair to judge.
            programs: The test programs, independent of one another.
            evidence: Gets the call.
        """
        parts = [question_of(pair, self._model.code_limit)]
        for tested in programs:
            parts += self._shown(tested)
        return await self._ask("arbiter", "\n".join((*parts, *_meaning(programs))), evidence)

    async def _ask(self, role: Role, user: str, evidence: Evidence) -> Judgement:
        prompt = Prompt(system=system_text(role), user=user)
        return await self._model.ask(role, prompt, Judgement, evidence)

    def _shown(self, tested: Tested) -> Iterator[str]:
        limit = self._model.code_limit
        yield fence("reading of the query that is tested", tested.draft.reading)
        yield fence("program", shorten(tested.draft.program, limit))
        if tested.result:
            report = json.dumps(tested.result.model_dump(include=_SHOWN), ensure_ascii=False)
            yield fence("report", shorten(report, min(limit, _LONGEST_REPORT)))
        if tested.oracle and tested.oracle.faults:
            yield f"{_VOID}\n{fence('faults', shorten(reason_of(tested.oracle), limit))}"


def _meaning(programs: Sequence[Tested]) -> Iterator[str]:
    """Yield what the reports mean; of programs that are void it was said where they stand."""
    last = programs[-1]
    if last.result is None:
        yield _NOT_RUN
    elif last.imagined:
        yield _IMAGINED
    elif is_confirmed(programs):
        yield _CONFIRMED
    elif any(_fails_under_gates(tested) for tested in programs):
        yield _UNCONFIRMED
    elif last.oracle is None or last.is_valid:
        yield _MEANING[last.standing]


def is_confirmed(programs: Sequence[Tested]) -> bool:
    """Return whether two independent, valid programs both fail an assertion."""
    return sum(_fails_under_gates(tested) for tested in programs) > 1


def _fails_under_gates(tested: Tested) -> bool:
    return tested.is_valid and tested.standing is Standing.FAILED_ASSERTION
