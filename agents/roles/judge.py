"""The agents that judge pairs by reading alone."""

from typing import Literal

from agents.llm.prompt import pair_section
from agents.llm.structured_output import Reply
from agents.roles.base import Agent
from infra.records import Pair


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
    """The single-LLM annotator, which reasons in three steps, by the exact-match criterion.

    It is also the final arbiter where no test program is written (Table VI, "PS + FA").

    Zero-shot chain of thought as both versions of CoSQA+ prompt for it (arXiv 2406.11589v1; the
    row "Single LLM" of Table VI in the later version). Fields are replied in their order, so that
    the verdict follows from the steps before it.
    """

    role = "exact_judge"
    reply_type = StepwiseJudgement

    async def read(self, pair: Pair) -> StepwiseJudgement:
        """Return the judgement; ``LanguageModelError`` when the model fails."""
        return await self._ask(pair_section(pair, self._model.code_limit))


class HalfJudge(ExactJudge):
    """The same by the 50% criterion: half of the demands are enough (arXiv 2406.11589v1, RQ2)."""

    role = "half_judge"
