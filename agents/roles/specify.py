"""Agents who judge by a query's specification: what it demands, and whether a code gives that."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from agents.claims.claim import Claim, claims_in, states_value, unread_line
from agents.claims.executed import rules_of
from agents.claims.program import ClaimRun
from agents.llm.prompt import fence, pair_section, shorten
from agents.llm.structured_output import Lines, Reply, Sentences
from agents.roles import Agent, Judgement, stub_section, undefined_names_section
from infra.errors import ReplyCutError, UnreadableReplyError
from infra.records import Pair, Query, Record

_MOST_EXAMPLES = 8
_MOST_SHOWN = 4  # of these to the screener, whose adapter and call need a few
_FEWEST_EXAMPLES = 3  # that are evidence where they hold
_LONGEST_LINE = 200  # characters of what could not be read
_AGAIN = """Each example is one line of Python: a call of f, =>, its value, as here:
"examples": "f([3, 1, 2], 2) => [3, 1]\\nf('a b', sep=' ') => 'A B'"
Write the whole reply again, with such examples of the query. This could not be read:"""
_MORE = "Write the whole reply again: four to six examples, one a line, or why they cannot show it."
_OPEN = "open"
_NOT_RUN = "Code of this language is not run here: leave beside, adapter and call empty."
_GAVE = {"held": "gave that", "failed": "gave", "not_run": "could not be run:"}


class Specification(Reply):
    """What a query demands, by its most likely reading."""

    reading: Sentences
    demands: Sentences
    left_open: Sentences
    examples: Lines
    cannot_show: Literal["none", "time", "window", "network", "machine", "container", "open"] = (
        "none"
    )
    clarity: Literal["clear", "underspecified"]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The examples that can be run."""
        return claims_in(self.examples, _MOST_EXAMPLES)

    @property
    def lack(self) -> str:
        """The text of a second request where too few examples can be evidence, else ""."""
        if len(self.claims) >= _FEWEST_EXAMPLES:
            return ""
        if unread := unread_line(self.examples):
            return f"{_AGAIN}\n{fence('example', shorten(unread, _LONGEST_LINE))}"
        return _MORE if (self.cannot_show, self.clarity) == ("none", "clear") else ""

    def section(
        self,
        limit: int,
        *,
        name: str = "specification",
        without: Literal["", "Reading", "Examples"] = "",
        examples: int = _MOST_EXAMPLES,
    ) -> str:
        """Return the specification as a part of a prompt."""
        parts = {
            "Reading": self.reading.strip(),
            "Demands": self.demands.strip(),
            "Left open": self.left_open.strip(),
            "Examples": "\n".join(map(str, self.claims[:examples])),
        }
        shown = {heading: part for heading, part in parts.items() if part and heading != without}
        text = "\n".join(f"{heading}:\n{part}" for heading, part in shown.items())
        return fence(name, shorten(text, limit))


class Specifier(Agent[Specification]):
    """Reads a query without any code in sight, once for all its candidates."""

    role = "specifier"
    reply_type = Specification

    async def specify(self, query: Query) -> Specification:
        """Return the specification, by a second reply where the first one's can't be read."""
        first = await self._ask(fence("query", query.text))
        if not first.lack:
            return first
        try:
            again = await self._ask("\n".join((fence("query", query.text), first.lack)))
        except (ReplyCutError, UnreadableReplyError):
            return first
        return best_of((first, again))


def best_of(replies: Iterable[Specification]) -> Specification:
    """Return the specification with the most examples that can be run, the first of several."""
    return max(replies, key=lambda one: len(one.claims))


class SpecifiedScreening(Reply):
    """What reading the code against the specification gave."""

    reason: Sentences
    verdict: Literal["clear_match", "clear_non_match", "unclear_behaviour", "unclear_query"]
    adapter: Lines
    call: Sentences
    beside: Lines = ""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The call that would show the fault, at most one."""
        return claims_in(self.call, 1)


class SpecifiedScreener(Agent[SpecifiedScreening]):
    """Separates clear pairs from others, and doubt about the code from doubt about the query."""

    role = "screener"
    text = "specified_screener"
    reply_type = SpecifiedScreening

    async def screen(
        self, pair: Pair, specification: Specification, *, is_run: bool = True
    ) -> SpecifiedScreening:
        """Return the screening."""
        limit = self._model.code_limit
        parts = (specification.section(limit), pair_section(pair, limit), _NOT_RUN)
        return await self._ask("\n".join(self._parts(pair, specification) if is_run else parts))

    async def mend(
        self, pair: Pair, specification: Specification, screening: SpecifiedScreening, fault: str
    ) -> SpecifiedScreening:
        """Return the screening with another adapter, if any, than one by which nothing ran."""
        limit = self._model.code_limit
        parts = (
            *self._parts(pair, specification),
            fence("faulty adapter", shorten(screening.adapter, limit)),
            fence("why", shorten(fault, limit)),
            "Nothing could be run by this adapter. Write it anew; keep the rest.",
        )
        again = await self._ask("\n".join(parts))
        mended = {"adapter": again.adapter, "beside": again.beside}
        return screening.model_copy(update=mended if again.adapter.strip() else {})

    def _parts(self, pair: Pair, specification: Specification) -> Iterator[str]:
        limit = self._model.code_limit
        # The demands say what the reading does.
        yield specification.section(limit, without="Reading", examples=_MOST_SHOWN)
        yield pair_section(pair, limit)
        yield from undefined_names_section(pair.code, limit)


class DemandedValue(Reply):
    """The value that is demanded of a call, or "open"."""

    reason: Lines
    value: Sentences

    @property
    def is_open(self) -> bool:
        """True if several values would do."""
        return self.value.strip().strip("`").strip() == _OPEN

    def confirms(self, claim: Claim) -> bool:
        """Return True if it is the claim's value."""
        return not self.is_open and states_value(self.value, claim.value)


class ClaimReading(Record):
    """The value that a reader without code demands of a claim's call."""

    alone: DemandedValue  # by the query alone
    specified: DemandedValue | None = None  # by its specification too, where it was asked for

    def confirms(self, claim: Claim) -> bool:
        """Return True if one of them is the claim's value."""
        is_specified = self.specified is not None and self.specified.confirms(claim)
        return is_specified or self.alone.confirms(claim)

    def acquits(self, run: ClaimRun) -> bool:
        """Return True if it demands what the code gave; what is open may be the form alone."""
        last, claim = self.specified or self.alone, run.claim
        given = f"{claim.demand.effect} {run.gave}".strip()
        return not last.is_open and states_value(last.value, given)

    @property
    def evidence(self) -> str:
        """The value as others see it, with whether the query leaves it open."""
        if self.specified is None or self.specified.is_open:
            return self.alone.value
        return f"{self.specified.value} by the specification, by the query alone {_OPEN}"


class ValueReader(Agent[DemandedValue]):
    """A second, independent reading of a claim: it sees neither the claimed value nor a code.

    Its reply does not depend on the code that failed, so a claim that many fail is asked once.
    """

    role = "value_reader"
    reply_type = DemandedValue

    async def read(self, query: Query, specification: Specification, run: ClaimRun) -> ClaimReading:
        """Return the value demanded of a failed call, by the query alone where it has one."""
        parts = (fence("query", query.text), fence("arguments", run.claim.arguments))
        alone = await self._ask("\n".join(parts))
        if not asks_again(alone, run):
            return ClaimReading(alone=alone)
        limit = self._model.code_limit
        specified = specification.section(limit, name="query as specified", without="Examples")
        return ClaimReading(alone=alone, specified=await self._ask("\n".join((*parts, specified))))


def asks_again(alone: DemandedValue, run: ClaimRun) -> bool:
    """Return True if a reader is asked by the specification too: not about a form left open."""
    return alone.is_open and not run.is_formed


class ClaimsJudgement(Judgement):
    """The last word on claims."""

    reason: Sentences


class ClaimsArbiter(Agent[ClaimsJudgement]):
    """Judges by the specification, the first reading, and what the code gave for each claim."""

    role = "claims_arbiter"
    reply_type = ClaimsJudgement

    async def judge(
        self,
        pair: Pair,
        specification: Specification,
        screening: SpecifiedScreening,
        runs: Sequence[ClaimRun],
        read: Mapping[Claim, str],
        problem: str,
    ) -> Judgement:
        """Return the judgement."""
        limit, calls = self._model.code_limit, call_lines(runs, read) or problem
        stubs = rules_of(pair.code.language).stubs
        parts = (
            specification.section(limit, without="Examples"),
            pair_section(pair, limit),
            fence("first reading", f"{screening.verdict}: {screening.reason}"),
            fence("adapter", shorten(screening.adapter, limit)),
            *stub_section(stubs.usable(screening.beside, pair.code.text)),
            *((fence("calls", shorten(calls, limit)),) if calls else ()),
        )
        return await self._ask("\n".join(parts))


def call_lines(runs: Sequence[ClaimRun], read: Mapping[Claim, str]) -> str:
    """Return a line for each claim: what the code gave, and what its reader demands."""
    lines = []
    for run in runs:
        # What a code gives has no line and no part of one of its own.
        gave = " ".join(f"{_GAVE[run.outcome]} {run.gave}".replace("|", "¦").splitlines()).strip()
        value = read.get(run.claim, "")
        said = f" | a reader who saw no code demands {' '.join(value.splitlines())}"
        lines.append(f"{run.claim} | the code {gave}{said if value else ''}")
    return "\n".join(lines)
