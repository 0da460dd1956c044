"""What exported labels owe to how codes behave: counts, and labels that behaviours contradict."""

import pyarrow as pa
import pyarrow.compute as pc

from infra.program_outcomes import FAILS, PASSES

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
    """Return pairs and reasons of labels that contradict how codes behave.

    They differ from one of a code of equal behaviour, or from what an accepted test program of
    another code says.
    """
    known = behaviours.select([*_PAIR, "behaviour", "reason", "outcomes"])
    labelled = known.append_column("row", pa.array(range(known.num_rows), pa.int64()))
    labelled = labelled.drop_columns("outcomes").join(
        labels.select([*_PAIR, "relevance"]), _PAIR, join_type="inner"
    )
    alike = labelled.filter(pc.not_equal(labelled["behaviour"], ""))
    spread = alike.group_by(_CLASS).aggregate([("relevance", "min"), ("relevance", "max")])
    mixed = spread.filter(pc.not_equal(spread["relevance_min"], spread["relevance_max"]))
    passing, failing = _rows_by_program(known["outcomes"])
    refuted = pc.or_(
        pc.and_(pc.equal(labelled["relevance"], 0), pc.is_in(labelled["row"], passing)),
        pc.and_(pc.equal(labelled["relevance"], 1), pc.is_in(labelled["row"], failing)),
    )
    found = (
        alike.join(mixed.select(_CLASS), _CLASS, join_type="left semi"),
        labelled.filter(refuted),
    )
    return pa.concat_tables(table.select([*_PAIR, "reason"]) for table in found)


def _rows_by_program(outcomes: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Return the numbers of the rows that pass a program, and of those that fail one."""
    lists = outcomes.combine_chunks()
    rows, texts = pc.list_parent_indices(lists), pc.list_flatten(lists)
    passing, failing = pc.equal(texts, PASSES), pc.starts_with(texts, FAILS)
    return rows.filter(passing), rows.filter(failing)


def _pairs(rows: pa.Table) -> int:
    return int(rows.group_by(_PAIR).aggregate([]).num_rows)
