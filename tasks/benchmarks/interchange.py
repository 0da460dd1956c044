"""Benchmarks as other tools read them: BEIR's folders, and tasks of mteb in memory and as files.

BEIR is Thakur et al. 2021 (arXiv 2104.08663), mteb Muennighoff et al. 2023. The package ``mteb`` is
no dependency of the pipeline: ``pip install 'cosqa-plus[interchange]'`` brings it. Then
``mteb.evaluate(model, mteb_task(benchmark))`` scores any of its models, CoIR's among them, on a
benchmark that is on no hub. `mteb_files` has the hub's names, for who puts it there.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from infra.errors import PublishError
from infra.records import Code, Query
from tasks.benchmarks.benchmark import Benchmark, columns_of
from tasks.benchmarks.splits import SPLITS
from tasks.benchmarks.trec import write_lines

if TYPE_CHECKING:
    from mteb import AbsTask

_SPLIT, _SUBSET = "test", "default"
_SHARD = "00000-of-00001.parquet"
_CARD = """---
pretty_name: {name}
license: {licence}
task_categories: [text-retrieval]
configs:
- config_name: corpus
  data_files: [{{split: test, path: corpus/test-*}}]
- config_name: queries
  data_files: [{{split: test, path: queries/test-*}}]
- config_name: qrels
  data_files: [{grades}]
---
"""


def mteb_task(benchmark: Benchmark) -> "AbsTask":
    """Return a benchmark as a retrieval task.

    Queries without a relevant code are left out, as everywhere here; mteb would count them as 0.
    Languages that mteb does not list are not named.

    Raises:
        PublishError: A relevance has a fraction, which mteb cannot take.
    """
    from mteb.abstasks.retrieval import AbsTaskRetrieval  # noqa: PLC0415 - an optional extra
    from mteb.abstasks.task_metadata import TaskMetadata  # noqa: PLC0415
    from mteb.languages import PROGRAMMING_LANGS  # noqa: PLC0415

    listed = {f"{name}-Code" for name in PROGRAMMING_LANGS}

    class LocalBenchmark(AbsTaskRetrieval):  # type: ignore[misc]
        """A benchmark in memory rather than on a hub."""

        metadata = TaskMetadata(
            name=benchmark.name,
            description=f"Code search, labelled by {benchmark.label_origin}.",
            dataset={"path": benchmark.name, "revision": benchmark.label_origin},
            type="Retrieval",
            category="t2t",
            modalities=["text"],
            eval_splits=[_SPLIT],
            eval_langs=["eng-Latn", *sorted(listed.intersection(code_languages(benchmark)))],
            main_score="ndcg_at_10",
            reference=None,
            bibtex_citation=None,
        )

        def load_data(self, **_: Any) -> None:  # noqa: ANN401 - mteb passes what it likes
            self.dataset = {_SUBSET: {_SPLIT: _split(benchmark)}}
            self.data_loaded = True

    return LocalBenchmark()


def mteb_files(benchmark: Benchmark, licence: str) -> dict[str, pa.Table | str]:
    """Return name → content of a benchmark's files as the hub has those of a task."""
    columns = columns_of(benchmark)
    codes, queries = columns.codes.ordered().table, columns.queries.ordered().table
    titles = pa.array([""] * codes.num_rows, pa.string())
    labels = columns.labels.ordered()
    parts = [benchmark.splits.get(label.query_id, _SPLIT) for label in labels]
    names = ["query-id", "corpus-id", "score"]
    grades = labels.table.select(["query_id", "code_id", "relevance"]).rename_columns(names)
    split = ", ".join(f"{{split: {each}, path: qrels/{each}-*}}" for each in sorted({*parts}))
    return {
        "README.md": _CARD.format(
            name=json.dumps(benchmark.name), licence=json.dumps(licence.lower()), grades=split
        ),
        f"corpus/{_SPLIT}-{_SHARD}": pa.table(
            {"_id": codes["code_id"], "title": titles, "text": codes["text"]}
        ),
        f"queries/{_SPLIT}-{_SHARD}": pa.table(
            {"_id": queries["query_id"], "text": queries["text"]}
        ),
        **{
            f"qrels/{each}-{_SHARD}": grades.filter(pa.array([part == each for part in parts]))
            for each in sorted({*parts})
        },
    }


def code_languages(benchmark: Benchmark) -> list[str]:
    """Return the languages of a benchmark's codes as mteb calls them, such as "java-Code".

    Code of which nothing is said is Python.
    """
    named = columns_of(benchmark).codes.column("language").unique().to_pylist()
    return sorted({f"{name or 'python'}-Code" for name in named})


def _split(benchmark: Benchmark) -> dict[str, object]:
    from datasets import Dataset  # noqa: PLC0415 - an optional extra

    grades: dict[str, dict[str, int]] = {}
    for label in benchmark.labels:
        if not label.relevance.is_integer():
            raise PublishError(
                f"{benchmark.name} gives {label.query_id} {label.code_id} relevance "
                f"{label.relevance}: mteb takes whole grades only"
            )
        grades.setdefault(label.query_id, {})[label.code_id] = max(int(label.relevance), 0)
    relevant = {query: codes for query, codes in sorted(grades.items()) if any(codes.values())}
    texts: dict[str, str] = {query.query_id: query.text for query in benchmark.queries}
    return {
        "corpus": Dataset.from_list(
            [{"id": code.code_id, "title": "", "text": code.text} for code in benchmark.codes]
        ),
        "queries": Dataset.from_list([{"id": query, "text": texts[query]} for query in relevant]),
        "relevant_docs": relevant,
        "top_ranked": None,
    }


def write_beir(benchmark: Benchmark, folder: Path) -> None:
    """Write ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/test.tsv``, sorted by id.

    Where the queries are split, ``qrels/`` has a file for each part.
    """
    (folder / "qrels").mkdir(parents=True)
    columns = columns_of(benchmark)
    corpus = (
        {"_id": code.code_id, "title": "", "text": code.text, **_metadata(code)}
        for code in columns.codes.ordered()
    )
    write_lines(folder / "corpus.jsonl", map(_json_line, corpus))
    questions = (
        {"_id": query.query_id, "text": query.text, **_metadata(query)}
        for query in columns.queries.ordered()
    )
    write_lines(folder / "queries.jsonl", map(_json_line, questions))
    parts: dict[str, list[str]] = {part: [] for part in (SPLITS if benchmark.splits else ["test"])}
    for label in columns.labels.ordered():
        line = f"{label.query_id}\t{label.code_id}\t{label.relevance:.12g}"
        parts[benchmark.splits.get(label.query_id, "test")].append(line)
    for part, lines in parts.items():
        header = "query-id\tcorpus-id\tscore"
        write_lines(folder / "qrels" / f"{part}.tsv", [header, *lines])


def _metadata(record: Query | Code) -> dict[str, dict[str, str]]:
    """Return BEIR's ``metadata``: split, source, language, licence and address where known."""
    known = {name: getattr(record, name) for name in sorted(record.added) if getattr(record, name)}
    return {"metadata": known} if known else {}


def _json_line(row: Mapping[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False)
