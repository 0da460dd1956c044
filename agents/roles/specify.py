"""Agents who judge by a query's specification: what it demands, and whether a code gives that."""

from collections.abc import Mapping, Sequence
from typing import Literal

from agents.claims.claim import Claim, claims_in, is_said_as
from agents.claims.program import ClaimRun
from agents.gates.beside import usable
from agents.llm.prompt import fence, pair_section, shorten
from agents.llm.structured_output import Reply
from agents.roles.base import Agent, Judgement, beside_section, lacking_section
from infra.records import Pair, Query

_MOST_EXAMPLES = 8
_OPEN = "open"
_TOLD = {"held": "gave that", "failed": "gave", "not_run": "could not be run:"}


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


class ClaimsArbiter(Agent[Judgement]):
    """Judges by the specification, the first reading, and what the code gave for each claim."""

    role = "claims_arbiter"
    reply_type = Judgement

    async def judge(
        self,
        pair: Pair,
        specification: Specification,
        screening: SpecifiedScreening,
        runs: Sequence[ClaimRun],
        read: Mapping[Claim, str],
        problem: str,
    ) -> Judgement:
        """Return the judgement; ``LanguageModelError`` when the model fails.

        Args:
            pair: The pair.
            specification: The query's.
            screening: The first reading, with the adapter by which the claims were run.
            runs: What the code gave for each claim.
            read: For claims that it did not hold, the value that a reader without code demands.
            problem: Why no claim was run, "" where some were.
        """
        limit = self._model.code_limit
        lines = "\n".join(_line(run, read.get(run.claim, "")) for run in runs)
        parts = (
            specification.section(limit, examples=False),
            pair_section(pair, limit),
            fence("first reading", f"{screening.verdict}: {screening.reason}"),
            fence("adapter", shorten(screening.adapter, limit)),
            *beside_section(usable(screening.beside, pair.code.text)),
            fence("calls", shorten(lines or problem, limit)),
        )
        return await self._ask("\n".join(parts))


def _line(run: ClaimRun, read: str) -> str:
    told = " ".join(f"{_TOLD[run.outcome]} {run.gave}".splitlines()).strip()  # none begins another
    line = f"{run.claim} | the code {told}"
    return (
        f"{line} | a reader who saw no code demands {' '.join(read.splitlines())}" if read else line
    )
