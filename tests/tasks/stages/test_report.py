"""Laws of a run's report: its figures are those of what was published and scored."""

from pathlib import Path

import pytest

from infra.collected import Collected
from infra.identity import BenchmarkId
from infra.records import Candidate, Code, Label, Query, SourceInfo
from infra.settings import PublishSettings
from infra.store import Database, candidates, corpus
from infra.store.benchmarks import Published
from tasks.benchmarks import write_benchmark
from tasks.benchmarks.licences import without_unlicensed
from tasks.runtime.references import CollectedSource, SearchReference
from tasks.stages.labels import label_sets, labelled_benchmark
from tasks.stages.report import gather_report
from tests.tasks.stages.generate.world import SEARCH


@pytest.mark.parametrize(("code_base", "searched"), [("collection", 4), ("candidates", 2)])
def test_the_code_base_of_scores_is_that_of_the_export(
    database: Database, tmp_path: Path, code_base: str, searched: int
) -> None:
    """Neither codes that are no candidates nor one without a licence are ranked."""
    query = Query.of("double a number")
    texts = [f"def f{number}(x):\n    return x" for number in range(5)]
    codes = [Code.of(text, licence="unknown" if "f2" in text else "MIT") for text in texts]
    key = {"query_id": query.query_id}
    found = [
        Candidate(**key, code_id=code.code_id, rank=rank, similarity=1, by_encoder={})
        for rank, code in enumerate(codes[:3], 1)
    ]
    label = Label(**key, code_id=codes[0].code_id, origin="people", relevance=1)
    info = SourceInfo(name="made", licence="of each", revision="1", location="here")
    content = Collected(info=info, queries=(query,), codes=tuple(codes), labels=(label,))
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    candidates.record_search(database, SEARCH, "c", ["minilm"], 3)
    candidates.add_candidates(database, SEARCH, found)
    source = CollectedSource(
        collections=tuple(corpus.collections_of(database, "print")),
        search=SearchReference(search_id=SEARCH, collection="c", queries=1, candidates=3),
    )
    publish = PublishSettings.model_validate({"folder": tmp_path / "out", "code_base": code_base})
    [labels] = label_sets(database, source)
    benchmark = without_unlicensed(labelled_benchmark(database, labels, publish))
    published = Published(
        benchmark_id=BenchmarkId(write_benchmark(benchmark, tmp_path / "out").fingerprint),
        name="c", collection="c", label_origin="people", folder=str(tmp_path / "out"),
    )  # fmt: skip
    report = gather_report(database, source, [published], ["bm25"], 100)
    assert [scores.codes for scores in report.benchmarks] == [searched]
    assert [counts.codes for counts in report.collections] == [5]
