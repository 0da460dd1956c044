"""The simulated executor of the paper's ablation: a model says what a run would have brought."""

from typing import Literal

from agents.evidence import Draft, Evidence
from agents.llm.client import Model
from agents.llm.prompt import Prompt, fence, question_of, shorten, system_text
from agents.llm.structured_output import Reply
from infra.records import ExecutionResult, Pair


class Prediction(Reply):
    """How a run would end."""

    outcome: Literal["passed", "assertion_failed", "raised"]
    message: str


class Simulator:
    """Imagines runs (CoSQA+, Table VI, "+ simulated executor")."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def run(self, pair: Pair, draft: Draft, evidence: Evidence) -> ExecutionResult:
        """Return the predicted end of a run; ``LanguageModelError`` when the model fails."""
        limit = self._model.code_limit
        program = fence("program", shorten(draft.program, limit))
        user = f"{question_of(pair, limit)}\n{program}"
        prompt = Prompt(system=system_text("simulator"), user=user)
        said = await self._model.ask("simulator", prompt, Prediction, evidence)
        return ExecutionResult(outcome=said.outcome, message=said.message)
