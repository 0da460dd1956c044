"""The final arbiter: weighs the query, the code, the program and the report of its run."""

import json
from typing import Literal

from agents.evidence import Draft, Evidence, Standing, standing_of
from agents.language_model import LanguageModel
from agents.prompting import Prompt, fence, question_of, shorten, system_text
from agents.structure import Reply
from infra.records import ExecutionResult, Pair

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
_SHOWN = {"outcome", "error_type", "message", "tests_run", "asserts_executed", "target_calls"}
_LONGEST_REPORT = 2_000


class Judgement(Reply):
    """The last word."""

    reason: str
    verdict: Literal["answers", "does_not_answer"]


class Arbiter:
    """Judges unclear pairs by their evidence (CoSQA+, Algorithm 1)."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    async def judge(
        self, pair: Pair, draft: Draft, result: ExecutionResult, evidence: Evidence
    ) -> Judgement:
        """Return the judgement; ``LanguageModelError`` when the model fails."""
        limit = self._model.code_limit
        report = json.dumps(result.model_dump(include=_SHOWN), ensure_ascii=False)
        parts = (
            question_of(pair, limit),
            fence("reading of the query that is tested", draft.reading),
            fence("program", shorten(draft.program, limit)),
            fence("report", shorten(report, min(limit, _LONGEST_REPORT))),
            _MEANING[standing_of(result)],
        )
        prompt = Prompt(system=system_text("arbiter"), user="\n".join(parts))
        return await self._model.ask("arbiter", prompt, Judgement, evidence)
