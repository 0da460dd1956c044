"""The source of a benchmark that is there: its queries, its code base, its grades as labels.

An export, a BEIR folder, the folder of an mteb task, and whatever else is a benchmark by
`cosqa list formats`; ``path`` is the folder, or the file of one split's grades. Its own ids are the
records' origins, since ids follow from content here (`content_ids`). Code is kept whether it parses
or not: a code base without a part of it would be another benchmark.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from infra.collected import Item
from infra.errors import SourceError
from infra.identity import CodeId, QueryId
from infra.records import Code, Label, Query, SourceInfo, normalise_query, query_id_of
from infra.text import is_blank
from tasks.benchmarks import Benchmark
from tasks.benchmarks.licences import UNKNOWN
from tasks.benchmarks.trec import write_lines
from tasks.corpus.functions import text_of_language
from tasks.corpus.merging import Deduplicator
from tasks.inputs.formats import BenchmarkFormat, benchmark_at, benchmark_signs
from tasks.sources import Source, SourceOptions, sources

GRADES = "benchmark"
_EMPTY = "query or code without text"


class ContentIds(NamedTuple):
    """The ids that a benchmark's queries and codes have by content, by their own; none of empty."""

    queries: dict[str, QueryId]
    codes: dict[str, CodeId]


def content_ids(benchmark: Benchmark) -> ContentIds:
    """Return the ids by content; equal texts share one."""
    return ContentIds(
        {
            each.query_id: query_id_of(each.text)
            for each in benchmark.queries
            if normalise_query(each.text)
        },
        {
            each.code_id: _record(each, "").code_id
            for each in benchmark.codes
            if not is_blank(each.text)
        },
    )


class BenchmarkOptions(SourceOptions):
    """The options of source benchmark."""

    path: Path = Field(
        description="the benchmark's folder, or the file of a split's grades (qrels/test.tsv)"
    )


@sources.register("benchmark")
class BenchmarkSource(Source[BenchmarkOptions]):
    """A benchmark in any of the formats."""

    version = "1"

    def __init__(self, collection: str, options: BenchmarkOptions) -> None:
        super().__init__(collection, options)
        path = options.path
        if not path.exists():
            raise SourceError(f"{path}: no such folder; give one that is there to --path")
        found = benchmark_at(path, usual="test")
        if found is None:
            signs = " nor ".join(benchmark_signs())
            raise SourceError(f"{path} is not a benchmark: it has neither {signs}")
        self._format: BenchmarkFormat = found

    @classmethod
    def write_example(cls, folder: Path) -> Mapping[str, object]:
        """Write a BEIR folder of two queries and codes, and return the options that read it."""
        files = {
            "corpus": [
                {"_id": "c1", "text": "def double(x):\n    return x + x\n"},
                {"_id": "c2", "text": "def halve(x):\n    return x / 2\n"},
            ],
            "queries": [{"_id": "q1", "text": "double it"}, {"_id": "q2", "text": "half of it"}],
        }
        for name, rows in files.items():
            write_lines(folder / f"{name}.jsonl", map(json.dumps, rows))
        (folder / "qrels").mkdir()
        (folder / "qrels" / "test.tsv").write_text("q1\tc1\t1\nq2\tc2\t1\n", encoding="utf-8")
        return {"path": folder}

    def inputs(self) -> list[Path]:
        """Return all files of the folder but rankings that were put beside an export."""
        folder = self._format.path
        files = (file for file in folder.rglob("*") if file.is_file())
        return sorted(file for file in files if file.relative_to(folder).parts[0] != "runs")

    @property
    def info(self) -> SourceInfo:
        """Origin of the benchmark, under the licences of all its sources."""
        licences = {source.licence for source in self._benchmark.sources} - {""} or {UNKNOWN}
        return SourceInfo(
            name="benchmark",
            licence=" AND ".join(sorted(licences)),
            revision=self._benchmark.label_origin,
            location=self._format.path.resolve().name,
        )

    @cached_property
    def _benchmark(self) -> Benchmark:
        return self._format.benchmark(needs_labels=False)

    def items(self, merged: Deduplicator) -> Iterator[Item]:
        """Yield the queries, the code base and the grades."""
        benchmark, ids = self._benchmark, content_ids(self._benchmark)
        empty = len(benchmark.queries) + len(benchmark.codes) - len(ids.queries) - len(ids.codes)
        if empty:
            merged.dropped[_EMPTY] += empty
        yield from merged.queries(
            Query.of(each.text, each.query_id, each.split)
            for each in benchmark.queries
            if each.query_id in ids.queries
        )
        yield from merged.codes(
            text_of_language(_record(each, each.code_id))
            for each in benchmark.codes
            if each.code_id in ids.codes
        )
        yield from merged.labels(
            Label(
                query_id=ids.queries[label.query_id],
                code_id=ids.codes[label.code_id],
                origin=GRADES,
                relevance=label.relevance,
                note=label.note,
            )
            for label in benchmark.labels
            if label.query_id in ids.queries and label.code_id in ids.codes
        )


def _record(code: Code, origin: str) -> Code:
    known = code.model_dump(exclude={"text", "code_id", "origin", "source"})
    return Code.of(code.text, **known, origin=origin)
