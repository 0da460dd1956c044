"""The screener that judges by a query's specification, and says how claims are run on the code."""

from typing import Literal

from agents.claims.claim import Claim, claims_in
from agents.llm.prompt import pair_section
from agents.llm.structured_output import Reply
from agents.roles.base import Agent, lacking_section
from agents.roles.specifier import Specification
from infra.records import Pair


class SpecifiedScreening(Reply):
    """What reading the code against the specification gave."""

    reason: str
    verdict: Literal["clear_match", "clear_non_match", "unclear_behaviour", "unclear_query"]
    beside: str = ""
    adapter: str
    call: str

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The call that would show the fault, at most one."""
        return claims_in(self.call, 1)


class SpecifiedScreener(Agent[SpecifiedScreening]):
    """Separates clear pairs from others, and doubt about the code from doubt about the query."""

    role = "screener"
    text = "specified_screener"
    reply_type = SpecifiedScreening

    async def screen(self, pair: Pair, specification: Specification) -> SpecifiedScreening:
        """Return the screening; ``LanguageModelError`` when the model fails."""
        limit = self._model.code_limit
        lacking = lacking_section(pair.code.text, limit)
        parts = (specification.section(limit), pair_section(pair, limit), *lacking)
        return await self._ask("\n".join(parts))
