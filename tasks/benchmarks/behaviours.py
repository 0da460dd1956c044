"""What exported labels owe to how codes behave: counts, and labels that behaviours contradict."""

import pyarrow as pa
import pyarrow.compute as pc

_PAIR = ["query_id", "code_id"]
_CLASS = ["query_id", "behaviour"]


def behaviour_counts(labels: pa.Table, behaviours: pa.Table) -> dict[str, int]:
    """Return how many labels a comparison has changed, and how many contradict; {} without any.

    Args:
        labels: The labels of a benchmark.
        behaviours: The behaviours of its codes.
    """
    if not behaviours.num_rows:
        return {}
    before, after = (pc.fill_null(behaviours[name], -1) for name in ("label", "agreed"))
    changed = behaviours.select(_PAIR).filter(pc.not_equal(before, after))
    return {
        "changed_by_behaviour": _pairs(changed),
        "contradictions": _pairs(contradicting(labels, behaviours)),
    }


def contradicting(labels: pa.Table, behaviours: pa.Table) -> pa.Table:
    """Return pairs and reasons of labels that differ from one of a code of equal behaviour."""
    known = behaviours.select([*_PAIR, "behaviour", "reason"])
    labelled = known.join(labels.select([*_PAIR, "relevance"]), _PAIR, join_type="inner")
    alike = labelled.filter(pc.not_equal(labelled["behaviour"], ""))
    spread = alike.group_by(_CLASS).aggregate([("relevance", "min"), ("relevance", "max")])
    mixed = spread.filter(pc.not_equal(spread["relevance_min"], spread["relevance_max"]))
    contradicting = alike.join(mixed.select(_CLASS), _CLASS, join_type="left semi")
    return contradicting.select([*_PAIR, "reason"])


def _pairs(rows: pa.Table) -> int:
    return int(rows.group_by(_PAIR).aggregate([]).num_rows)
