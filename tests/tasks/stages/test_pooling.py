"""Laws of what is pooled: pairs that the store knows, and whatever a query was written for.

Covers `tasks.stages.pooling`.
"""

from pathlib import Path

import pytest

from infra.collected import Collected
from infra.errors import PublishError
from infra.identity import BenchmarkId, SearchId
from infra.records import Candidate, Code, Query, SourceInfo
from infra.store import Database, candidates, corpus
from infra.store.benchmarks import Published
from tasks.benchmarks import write_benchmark
from tasks.runtime.references import SearchReference
from tasks.stages.pooling import check_pooling, pool_origins, unfound_origins
from tasks.stages.scoring import OpenBenchmark
from tests.fakes.benchmarks import people_benchmark


def opened(folder: Path, fingerprint: str, collection: str) -> OpenBenchmark:
    return OpenBenchmark(
        Published(
            benchmark_id=BenchmarkId(fingerprint),
            name="toy-people",
            collection=collection,
            label_origin="people",
            folder=str(folder),
        )
    )


def test_a_benchmark_of_another_store_is_not_pooled(database: Database, tmp_path: Path) -> None:
    made, now = people_benchmark(), tmp_path / "now"
    fingerprint = write_benchmark(made, now).fingerprint
    check_pooling(database, opened(now, fingerprint, "c"))
    with pytest.raises(PublishError, match=r"not published from the store.*--store"):
        check_pooling(database, opened(now, fingerprint, ""))


def test_the_function_of_a_written_query_is_pooled_where_no_encoder_found_it(
    database: Database,
) -> None:
    found, missed = Code.of("def f(x):\n    return x"), Code.of("def g(x):\n    return 2 * x")
    queries = tuple(
        Query.of(text, f"a.py:{line} ({function})")
        for line, (text, function) in enumerate(
            {"as it is": found.code_id, "twice": missed.code_id, "(c0) of others": "x"}.items()
        )
    )
    info = SourceInfo(name="written", licence="MIT", revision="1", location="here")
    content = Collected(info=info, queries=queries, codes=(found, missed))
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    rows = [
        Candidate(query_id=query.query_id, code_id=found.code_id, rank=1, similarity=1,
                  by_encoder={})
        for query in queries
    ]  # fmt: skip
    search = SearchReference(search_id=SearchId("s"), collection="c", queries=3, candidates=3)
    candidates.record_search(database, search.search_id, "c", ["minilm"], 1)
    candidates.add_candidates(database, search.search_id, rows)
    pool_origins.fn(database, search)
    pool_origins.fn(database, search)
    (pool,) = candidates.pools_of(database, "c")
    assert candidates.pairs_of(database, [pool], "c") == [(queries[1].query_id, missed.code_id)]
    assert unfound_origins(database, search) == []
