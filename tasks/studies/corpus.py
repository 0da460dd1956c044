"""The collection: how many queries and functions there are, and what the filters left."""

from collections.abc import Sequence
from typing import ClassVar

from tasks.studies import Evidence, Figure, Study, have, studies


@studies.register("corpus")
class Corpus(Study):
    """Sizes of the collection."""

    title: ClassVar[str] = "Queries and functions"
    reading: ClassVar[str] = (
        "Functions read are those kept and those that a rule of the source dropped; equal texts "
        "are one function here."
    )
    command: ClassVar[str] = "cosqa collect, then cosqa study"
    conditions: ClassVar[tuple[str, ...]] = ("source",)

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the number of queries, of functions read and kept, and of each reason to drop."""
        facts = have(evidence.collection)
        items = {
            "queries": facts.queries,
            "functions read": facts.codes + sum(facts.dropped.values()),
            "functions kept": facts.codes,
            **{f"dropped: {rule}": number for rule, number in facts.dropped.items()},
        }
        return [Figure(row=row, column="items", value=number) for row, number in items.items()]
