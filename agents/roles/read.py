"""The agents that read a pair alone: the screener, the judges, and who predicts a run."""

from typing import Literal

from agents.evidence import Draft
from agents.llm.prompt import fence, pair_section, shorten
from agents.llm.structured_output import Reply
from agents.roles import Agent, stub_section
from infra.records import ExecutionResult, Pair

_LONGEST_MESSAGE = 10_000  # characters that a result holds


class Screening(Reply):
    """What reading the code against the query gave."""

    reason: str
    verdict: Literal["clear_match", "clear_non_match", "unclear"]


class Screener(Agent[Screening]):
    """Separates clear pairs from those that need a test program (CoSQA+, Algorithm 1)."""

    role = "screener"
    reply_type = Screening

    async def screen(self, pair: Pair) -> Screening:
        """Return the screening, with whether the pair is clear."""
        return await self._ask(pair_section(pair, self._model.code_limit))


class StepwiseJudgement(Reply):
    """What the query asks, how the code deviates from it, and then the verdict."""

    asked: str
    deviations: str
    verdict: Literal["answers", "does_not_answer"]

    @property
    def reason(self) -> str:
        """The first two steps as one text."""
        return f"Asked: {self.asked}\nDeviations: {self.deviations}"


class ExactJudge(Agent[StepwiseJudgement]):
    """The single-LLM annotator, which reasons in three steps, by the exact-match guideline.

    It is also the final arbiter where no test program is written (Table VI, "PS + FA").
    Zero-shot chain of thought as both versions of CoSQA+ prompt for it (arXiv 2406.11589v1; the
    row "Single LLM" of Table VI in the later version).
    """

    role = "exact_judge"
    reply_type = StepwiseJudgement

    async def read(self, pair: Pair) -> StepwiseJudgement:
        """Return the judgement."""
        return await self._ask(pair_section(pair, self._model.code_limit))


class HalfJudge(ExactJudge):
    """The same by the 50% criterion: half of the demands are enough (arXiv 2406.11589v1, RQ2)."""

    role = "half_judge"


class Prediction(Reply):
    """How a run would end."""

    outcome: Literal["passed", "assertion_failed", "raised"]
    message: str


class Simulator(Agent[Prediction]):
    """Predicts runs (CoSQA+, Table VI, "+ simulated executor")."""

    role = "simulator"
    reply_type = Prediction

    async def run(self, pair: Pair, draft: Draft) -> ExecutionResult:
        """Return the predicted result, in which nothing is counted."""
        limit = self._model.code_limit
        program = fence("program", shorten(draft.program, limit))
        parts = (pair_section(pair, limit), *stub_section(draft.support_code), program)
        prediction = await self._ask("\n".join(parts))
        return ExecutionResult(
            outcome=prediction.outcome,
            message=prediction.message[:_LONGEST_MESSAGE],
            tests_run=None,
            asserts_executed=None,
            target_calls=None,
        )
