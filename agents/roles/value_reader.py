"""The value reader, which says without sight of any code what a query demands of one call."""

from agents.claims.claim import Claim, is_said_as
from agents.llm.prompt import fence
from agents.llm.structured_output import Reply
from agents.roles.base import Agent
from agents.roles.specifier import Specification
from infra.records import Query

_OPEN = "open"


class DemandedValue(Reply):
    """The value that is demanded, or "open": by the query alone, then by its specification too."""

    reason: str
    by_query_alone: str = ""
    value: str

    def confirms(self, claim: Claim) -> bool:
        """Return whether it is the claim's value."""
        return _says(self.value, claim)

    def confirms_alone(self, claim: Claim) -> bool:
        """Return whether the query demands that value by itself, or nobody asked for that."""
        was_asked = "by_query_alone" in self.model_fields_set
        return self.confirms(claim) and (not was_asked or _says(self.by_query_alone, claim))

    def told(self, claim: Claim) -> str:
        """Return the value as it is told to others, with an objection where the query has one."""
        if not self.confirms(claim) or self.confirms_alone(claim):
            return self.value
        return f"{self.value} by the specification, by the query alone {self.by_query_alone}"


def _says(value: str, claim: Claim) -> bool:
    is_open = value.strip().strip("`").strip() == _OPEN
    return not is_open and is_said_as(value, claim.value)


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
            fence("arguments", claim.arguments),
            specification.section(self._model.code_limit, examples=False),
        )
        return await self._ask("\n".join(parts))
