"""The preliminary screener: settles what reading alone can settle."""

from typing import Literal

from agents.evidence import Evidence
from agents.llm.client import Model
from agents.llm.prompt import Prompt, question_of, system_text
from agents.llm.structured_output import Reply
from infra.records import Pair


class Screening(Reply):
    """What reading the code against the query gave."""

    reason: str
    verdict: Literal["clear_match", "clear_non_match", "unclear"]


class Screener:
    """Tells clear pairs from those that deserve a test program (CoSQA+, Algorithm 1)."""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def screen(self, pair: Pair, evidence: Evidence) -> Screening:
        """Return whether the pair is clear; ``LanguageModelError`` when the model fails."""
        user = question_of(pair, self._model.code_limit)
        prompt = Prompt(system=system_text("screener"), user=user)
        return await self._model.ask("screener", prompt, Screening, evidence)
