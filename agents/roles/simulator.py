"""The simulated executor of the paper's ablation: a model predicts the result of a run."""

from typing import Literal

from agents.evidence import Draft
from agents.llm.prompt import fence, pair_section, shorten
from agents.llm.structured_output import Reply
from agents.roles.base import Agent, beside_section
from infra.records import ExecutionResult, Pair

_LONGEST_MESSAGE = 10_000  # characters that a result holds


class Prediction(Reply):
    """How a run would end."""

    outcome: Literal["passed", "assertion_failed", "raised"]
    message: str


class Simulator(Agent[Prediction]):
    """Predicts runs (CoSQA+, Table VI, "+ simulated executor")."""

    role = "simulator"
    reply_type = Prediction

    async def run(self, pair: Pair, draft: Draft) -> ExecutionResult:
        """Return the predicted result, in which nothing is counted.

        Raises:
            LanguageModelError: The model failed.
        """
        limit = self._model.code_limit
        program = fence("program", shorten(draft.program, limit))
        parts = (pair_section(pair, limit), *beside_section(draft.beside), program)
        prediction = await self._ask("\n".join(parts))
        return ExecutionResult(
            outcome=prediction.outcome,
            message=prediction.message[:_LONGEST_MESSAGE],
            tests_run=None,
            asserts_executed=None,
            target_calls=None,
        )
