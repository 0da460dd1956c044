"""The codes of a benchmark that may be published."""

from collections import Counter
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from infra.records import Code, Label, Query, SourceInfo
from tasks.benchmarks.benchmark import GENERATED, Benchmark, columns_of
from tasks.benchmarks.licences import permits_redistribution
from tasks.benchmarks.rows import Row, Rows, Undecided

UNLICENSED = "code whose licence is unknown or does not permit redistribution"
PAIR_OF_UNLICENSED = "judged pair of such code"
ONLY_UNLICENSED = "query all of whose judged pairs are of such code"


def without_unlicensed(benchmark: Benchmark) -> Benchmark:
    """Return a benchmark without code that may not be redistributed, and all that refers to it.

    What is left out is counted in ``dropped``. Code without a licence of its own is under that of
    its source; written answers stay.
    """
    columns = columns_of(benchmark)
    permitted = _permitted(columns.codes, benchmark.sources)
    if pc.all(permitted, min_count=0).as_py():
        return benchmark
    codes = columns.codes.where(permitted)
    labels = _rows_of(columns.labels, codes, "code_id")
    undecided = _rows_of(columns.undecided, codes, "code_id")
    lost = _queries_of(columns.labels, columns.undecided) - _queries_of(labels, undecided)
    is_lost = pc.is_in(
        columns.queries.column("query_id"), value_set=pa.array(sorted(lost), pa.string())
    )
    queries = columns.queries.where(pc.invert(is_lost))
    dropped = Counter(benchmark.dropped)
    dropped[UNLICENSED] += len(columns.codes) - len(codes)
    dropped[PAIR_OF_UNLICENSED] += (
        len(columns.labels) + len(columns.undecided) - len(labels) - len(undecided)
    )
    dropped[ONLY_UNLICENSED] += len(columns.queries) - len(queries)
    return benchmark.model_copy(
        update={
            "codes": codes,
            "labels": labels,
            "stale": _rows_of(columns.stale, codes, "code_id"),
            "undecided": undecided,
            "queries": queries,
            "specifications": _rows_of(columns.specifications, queries, "query_id"),
            "evidence": benchmark.evidence.filter_codes(codes.column("code_id").combine_chunks()),
            "dropped": dict(+dropped),
        }
    )


def _permitted(codes: Rows[Code], sources: Sequence[SourceInfo]) -> pa.ChunkedArray:
    """Return for each code whether it may be published."""
    licences, known = codes.column("licence"), {source.name for source in sources}
    refusing = {source.name for source in sources if not permits_redistribution(source.licence)}
    covering = sorted(known - refusing if refusing else {*known, ""})
    own = [name for name in pc.unique(licences).to_pylist() if permits_redistribution(name)]
    by_source = pc.and_(
        pc.equal(licences, ""),
        pc.is_in(codes.column("source"), value_set=pa.array(covering, pa.string())),
    )
    by_itself = pc.is_in(licences, value_set=pa.array(own, pa.string()))
    written = pc.starts_with(codes.column("origin"), GENERATED)
    return pc.or_(pc.or_(by_itself, by_source), written)


def _rows_of(found: Rows[Row], others: Rows[Code] | Rows[Query], column: str) -> Rows[Row]:
    kept = others.column(column).combine_chunks()
    return found.where(pc.is_in(found.column(column), value_set=kept))


def _queries_of(labels: Rows[Label], undecided: Rows[Undecided]) -> set[str]:
    return {*labels.column("query_id").to_pylist(), *undecided.column("query_id").to_pylist()}
