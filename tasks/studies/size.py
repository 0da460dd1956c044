"""Table II, and Table 1 of the first version: the size of the benchmark and of its programs."""

from collections.abc import Sequence
from typing import ClassVar

from tasks.studies import Evidence, Figure, Missing, Study, have, studies


@studies.register("size")
class Size(Study):
    """Size of the benchmark."""

    title: ClassVar[str] = "Size of the benchmark and of its test programs"
    reading: ClassVar[str] = (
        "Pairs are labelled ones, codes are those in them. A program's test cases are the test "
        "functions that the pair's last program defines; it ran if it came to its end or to a "
        "failing assertion."
    )
    command: ClassVar[str] = "cosqa publish, then cosqa study"
    conditions: ClassVar[tuple[str, ...]] = (
        "source", "queries", "codes", "top k", "model", "configuration", "code base",
    )  # fmt: skip

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return counts and means over the labels, and over the programs where there are any."""
        facts = have(evidence.benchmark)
        figures = [
            Figure(row="pairs", column="benchmark", value=facts.pairs),
            Figure(row="codes", column="benchmark", value=facts.codes),
            Figure(
                row="mean characters of a code",
                column="benchmark",
                value=facts.mean_characters,
                n=facts.codes,
            ),
        ]
        return [*figures, *_of_programs(evidence)]


def _of_programs(evidence: Evidence) -> Sequence[Figure]:
    facts = evidence.programs
    rows = ("mean test cases of a program", "share of programs that run")
    if isinstance(facts, Missing):
        return [Figure(row=row, column="benchmark", value=None, note=facts.reason) for row in rows]
    values = (facts.tests / facts.programs, facts.executed / facts.programs)
    return [
        Figure(row=row, column="benchmark", value=value, n=facts.programs)
        for row, value in zip(rows, values, strict=True)
    ]
