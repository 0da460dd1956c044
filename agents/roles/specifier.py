"""The specifier, which says once for all candidates of a query what the query demands."""

from typing import Literal

from agents.claims.claim import Claim, claims_in
from agents.llm.prompt import fence, shorten
from agents.llm.structured_output import Reply
from agents.roles.base import Agent
from infra.records import Query

_MOST_EXAMPLES = 8


class Specification(Reply):
    """What a query demands, by its most likely reading."""

    reading: str
    other_readings: str
    demands: str
    left_open: str
    examples: str
    cannot_show: Literal["none", "time", "window", "network", "machine", "container", "open"] = (
        "none"
    )
    clarity: Literal["clear", "underspecified"]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The examples that can be run."""
        return claims_in(self.examples, _MOST_EXAMPLES)

    @property
    def text(self) -> str:
        """All but the examples, under headings, for other agents."""
        parts = {
            "Reading": self.reading,
            "Other readings": self.other_readings,
            "Demands": self.demands,
            "Left open": self.left_open,
        }
        return "\n".join(f"{name}:\n{part.strip()}" for name, part in parts.items() if part.strip())

    def section(self, limit: int, *, examples: bool = True) -> str:
        """Return the specification as a part of a prompt.

        Args:
            limit: Most characters of a part.
            examples: Whether the examples stand in it.
        """
        parts = [fence("specification", shorten(self.text, limit))]
        if examples and self.claims:
            lines = "\n".join(map(str, self.claims))
            parts.append(fence("examples", shorten(lines, limit)))
        return "\n".join(parts)


class Specifier(Agent[Specification]):
    """Reads a query without any code in sight.

    All its candidates are judged by one reading: the reply to one query is kept, and asked once.
    """

    role = "specifier"
    reply_type = Specification

    async def specify(self, query: Query) -> Specification:
        """Return the specification; ``LanguageModelError`` when the model fails."""
        return await self._ask(fence("query", query.text))
