"""The value reader, which says without sight of any code what a query demands of one call."""

from agents.claims.claim import Claim, is_said_as
from agents.llm.prompt import fence
from agents.llm.structured_output import Reply
from agents.roles.base import Agent
from agents.roles.specifier import Specification
from infra.records import Query

_OPEN = "open"


class DemandedValue(Reply):
    """The value that is demanded, or "open"."""

    reason: str
    value: str

    def confirms(self, claim: Claim) -> bool:
        """Return whether it is the claim's value."""
        is_open = self.value.strip().strip("`").strip() == _OPEN
        return not is_open and is_said_as(self.value, claim.value)


class ValueReader(Agent[DemandedValue]):
    """A second, independent reading of a claim: it sees neither the claimed value nor a code.

    It is asked about a call that some code does not answer as claimed. Its reply does not depend on
    that code, so a claim that many codes fail is asked once.
    """

    role = "value_reader"
    reply_type = DemandedValue

    async def read(self, query: Query, specification: Specification, claim: Claim) -> DemandedValue:
        """Return the value demanded of the claim's call.

        Raises:
            LanguageModelError: The model failed.
        """
        parts = (
            fence("query", query.text),
            specification.section(self._model.code_limit, examples=False),
            fence("arguments", claim.arguments),
        )
        return await self._ask("\n".join(parts))
