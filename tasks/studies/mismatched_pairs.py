"""The first version's share of CoSQA's pairs whose code does not answer the query."""

from collections.abc import Sequence
from typing import ClassVar

from tasks.studies import Evidence, Figure, Study, have, studies

_MISSING = "missing: the agents have labelled none of these pairs"


@studies.register("mismatched-pairs")
class MismatchedPairs(Study):
    """CoSQA's pairs without a match."""

    title: ClassVar[str] = "CoSQA's own pairs that do not match"
    reading: ClassVar[str] = (
        "Share of the pairs of cosqa-*.json that are labelled 0: by CoSQA's annotators, and by the "
        "agents' labels that stand, over the pairs that are among the judged candidates. The paper "
        "says it of queries under its strict guideline, and not how many were looked at."
    )
    command: ClassVar[str] = "cosqa benchmark --source cosqa --path FOLDER, then cosqa study"
    conditions: ClassVar[tuple[str, ...]] = ("source", "model", "configuration")

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the share by each who labelled them."""
        by = have(evidence.mismatches)
        rows = [Figure(row=who, column="share", **share.model_dump()) for who, share in by.items()]
        missing = Figure(row="agents", column="share", value=None, note=_MISSING)
        return rows if "agents" in by else [*rows, missing]
