"""What is shown of a pair that was judged by its query's specification."""

from collections.abc import Iterator
from typing import Literal

from infra.records import Record
from tasks.benchmarks import QuerySpecification

_UNDERSPECIFIED = "underspecified: code right for one reading may be wrong for another"


class ClaimLine(Record):
    """A call, and what came of it.

    Attributes:
        call: The arguments.
        demanded: The value that the query demands.
        outcome: Whether the code gave it; ``not_run`` also where nothing was tried.
        gave: What it gave instead, or why it could not be run.
        read: What a second reader, who saw no code, demands; "" where nobody was asked.
        counts: False where that is another value, so that nothing follows from the call.
    """

    call: str
    demanded: str
    outcome: Literal["held", "failed", "not_run"]
    gave: str = ""
    read: str = ""
    counts: bool = True

    @property
    def told(self) -> str:
        """What came of the call, in words."""
        if self.outcome == "not_run":
            return f"not run: {self.gave}" if self.gave else "not run"
        return "as demanded" if self.outcome == "held" else f"gave {self.gave}"


class SpecifiedPart(Record):
    """What a pair was judged by.

    Attributes:
        specification: The query's.
        verdict: Of the first reading of the code; "" where judging ended before.
        adapter: The lines by which the calls reach the code; "" where they do not fit.
        claims: What came of each call.
    """

    specification: QuerySpecification
    verdict: str = ""
    adapter: str = ""
    claims: tuple[ClaimLine, ...] = ()

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """The specification's parts that have lines, under their headings; without the calls."""
        one = self.specification
        parts = {
            "Reading": (one.reading,),
            "Other readings": one.other_readings,
            "Demands": one.demands,
            "Left open": one.left_open,
        }
        return {name: lines for name, lines in parts.items() if lines}


def specified_text(part: SpecifiedPart) -> str:
    """Return the part for a terminal."""
    return "\n".join(_lines(part))


def _lines(part: SpecifiedPart) -> Iterator[str]:
    yield "\n-- what the query demands"
    if part.specification.is_underspecified:
        yield _UNDERSPECIFIED
    for name, lines in part.parts.items():
        yield f"{name}:"
        yield from (f"  {line}" for line in lines)
    if part.verdict:
        yield f"First reading of the code: {part.verdict.replace('_', ' ')}"
    yield "Calls:" if part.claims else "Calls: none shows what is demanded"
    for claim in part.claims:
        read = f"; a second reader demands {claim.read}" if claim.read else ""
        yield f"  {claim.call} => {claim.demanded}: {claim.told}{read}"
