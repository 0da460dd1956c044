"""The preliminary screener, which decides pairs that are clear from reading."""

from typing import Literal

from agents.llm.prompt import pair_section
from agents.llm.structured_output import Reply
from agents.roles.base import Agent
from infra.records import Pair


class Screening(Reply):
    """What reading the code against the query gave."""

    reason: str
    verdict: Literal["clear_match", "clear_non_match", "unclear"]


class Screener(Agent[Screening]):
    """Separates clear pairs from those that need a test program (CoSQA+, Algorithm 1)."""

    role = "screener"
    reply_type = Screening

    async def screen(self, pair: Pair) -> Screening:
        """Return whether the pair is clear; ``LanguageModelError`` when the model fails."""
        return await self._ask(pair_section(pair, self._model.code_limit))
