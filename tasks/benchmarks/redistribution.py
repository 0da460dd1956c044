"""Which of a benchmark's codes may be published."""

from collections import Counter
from collections.abc import Iterable

from infra.records import Label
from tasks.benchmarks.benchmark import Benchmark, Undecided
from tasks.benchmarks.licences import permits_redistribution

UNLICENSED = "code whose licence is unknown or does not permit redistribution"
PAIR_OF_UNLICENSED = "judged pair of such code"
ONLY_UNLICENSED = "query all of whose judged pairs are of such code"


def without_unlicensed(benchmark: Benchmark) -> Benchmark:
    """Return a benchmark without code that may not be redistributed, and all that refers to it.

    What is left out is counted in ``dropped``. Code without a licence of its own is under that of
    its source, and stays.
    """
    codes = tuple(code for code in benchmark.codes if permits_redistribution(code.licence))
    if len(codes) == len(benchmark.codes):
        return benchmark
    kept = {code.code_id for code in codes}
    labels = tuple(item for item in benchmark.labels if item.code_id in kept)
    undecided = tuple(item for item in benchmark.undecided if item.code_id in kept)
    lost = _queries_of(benchmark.labels, benchmark.undecided) - _queries_of(labels, undecided)
    queries = tuple(query for query in benchmark.queries if query.query_id not in lost)
    dropped = Counter(benchmark.dropped)
    dropped[UNLICENSED] += len(benchmark.codes) - len(codes)
    dropped[PAIR_OF_UNLICENSED] += (
        len(benchmark.labels) + len(benchmark.undecided) - len(labels) - len(undecided)
    )
    dropped[ONLY_UNLICENSED] += len(benchmark.queries) - len(queries)
    return benchmark.model_copy(
        update={
            "codes": codes,
            "labels": labels,
            "undecided": undecided,
            "queries": queries,
            "evidence": tuple(item for item in benchmark.evidence if item.code_id in kept),
            "dropped": dict(+dropped),
        }
    )


def _queries_of(labels: Iterable[Label], undecided: Iterable[Undecided]) -> set[str]:
    return {label.query_id for label in labels} | {pair.query_id for pair in undecided}
