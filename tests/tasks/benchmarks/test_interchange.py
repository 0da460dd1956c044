"""The same run on the same export, scored by us, by `mteb` and by BEIR's own evaluator."""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.errors import PublishError
from infra.records import Code, Label, Query
from infra.settings import SourceSettings
from tasks.benchmarks import Benchmark, qrels_of, write_benchmark, write_run
from tasks.benchmarks.interchange import code_languages, mteb_task
from tasks.benchmarks.runs import Rankings
from tasks.inputs.formats.beir import Beir
from tasks.inputs.trec import read_run
from tasks.metrics import evaluate, mean
from tasks.retrievers import retrievers
from tasks.sources import open_source
from tests.fakes.benchmarks import people_benchmark
from tests.tasks.sources.examples import read_whole

ROUNDED = 5  # places, to which both evaluators round means
MTEB = {"NDCG@10": "ndcg_at_10", "MAP@100": "map_at_100", "Recall@10": "recall_at_10"} | {
    "MRR@10": "mrr_at_10",
    "Precision@5": "precision_at_5",
}


class ReplayedRun:
    """Rankings that mteb evaluates in the place of a model's."""

    def __init__(self, name: str, rankings: Rankings) -> None:
        self._name = name
        self._scores: dict[str, dict[str, float]] = {}
        # mteb reads scores in single precision and breaks ties in its own way: ranks have none.
        for query, code, _ in rankings.rows():
            scores = self._scores.setdefault(query, {})
            scores[code] = float(rankings.depth - len(scores))

    def index(self, corpus: object, **_: object) -> None:
        """Ignore the corpus: the rankings are made already."""

    def search(self, queries: Any, **_: object) -> dict[str, dict[str, float]]:
        return {query: self._scores.get(query, {}) for query in queries["id"]}

    @property
    def mteb_model_meta(self) -> Any:
        """What mteb writes beside the scores."""
        from mteb.models import ModelMeta  # noqa: PLC0415 - an optional extra

        return ModelMeta.create_empty({"name": self._name, "revision": "replayed"})


@pytest.fixture(autouse=True)
def _other_peoples_warnings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def benchmark() -> Benchmark:
    """Return eight functions and three queries, one of them without a relevant function."""
    codes = [Code.of(f"def f{n}(items):\n    return items[{n}] + {n * n}") for n in range(8)]
    queries = [Query.of(text) for text in ("f3 of items", "items 4", "return f5")]
    grades = {(0, 3): 2, (0, 1): 1, (0, 7): 0, (1, 2): 1, (1, 5): 3, (2, 5): 0}
    return people_benchmark().model_copy(
        update={
            "codes": tuple(codes),
            "queries": tuple(queries),
            "labels": tuple(
                Label(
                    query_id=queries[query].query_id,
                    code_id=codes[code].code_id,
                    origin="people",
                    relevance=grade,
                )
                for (query, code), grade in grades.items()
            ),
        }
    )


def ranked(of: Benchmark) -> Rankings:
    return retrievers.get("bm25")().rank(of.queries, of.codes, 8)


def means(rankings: Rankings, of: Benchmark, *names: str) -> dict[str, float]:
    scores = evaluate(rankings, qrels_of(of.labels), names)
    return {name: round(mean(values.values()), ROUNDED) for name, values in scores.items()}


def check_mteb(rankings: Rankings, of: Benchmark) -> None:
    mteb = pytest.importorskip("mteb", reason="the extra 'interchange' is not installed")
    result = mteb.evaluate(ReplayedRun("methods/replayed", rankings), mteb_task(of), cache=None)
    theirs = result.task_results[0].scores["test"][0]
    found = {name: round(theirs[key], ROUNDED) for name, key in MTEB.items()}  # not so its MRR
    assert found == pytest.approx(means(rankings, of, *MTEB), abs=1e-6)


def check_beir(rankings: Rankings, of: Benchmark, folder: Path) -> None:
    evaluation = pytest.importorskip(
        "beir.retrieval.evaluation", reason="the extra 'interchange' is not installed"
    )
    loader = pytest.importorskip("beir.datasets.data_loader").GenericDataLoader
    write_benchmark(of, folder / "export")
    file = write_run(folder / "export", "method", rankings)
    _, _, qrels = loader(data_folder=str(folder / "export" / "beir")).load(split="test")
    judged = {query: of_query for query, of_query in qrels.items() if any(of_query.values())}
    run: dict[str, dict[str, float]] = {query: {} for query in judged}
    for query, code, score in read_run(file).rows():
        if query in judged:
            run[query][code] = score
    tables = evaluation.EvaluateRetrieval.evaluate(judged, run, [5, 10, 100])
    theirs = {name: value for table in tables for name, value in table.items()}
    names = {"NDCG@10": "NDCG@10", "MAP@100": "MAP@100", "Recall@10": "Recall@10"}
    found = {name: theirs[key] for name, key in (names | {"Precision@5": "P@5"}).items()}
    assert found == pytest.approx(means(rankings, of, *found), abs=1e-6)


def test_mteb_scores_a_run_as_we_do() -> None:
    of = benchmark()
    check_mteb(ranked(of), of)


def test_beir_scores_a_run_on_our_export_as_we_do(tmp_path: Path) -> None:
    of = benchmark()
    check_beir(ranked(of), of, tmp_path)


def test_a_folder_that_was_taken_in_scores_as_the_benchmark_that_went_out(tmp_path: Path) -> None:
    of = benchmark()
    write_benchmark(of, tmp_path / "export")
    back = Beir(tmp_path / "export" / "beir").benchmark()
    rankings = ranked(of)
    assert means(rankings, back, *MTEB) == means(rankings, of, *MTEB)


def test_datasets_loads_an_export_offline(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="the extra 'interchange' is not installed")
    of = benchmark()
    write_benchmark(of, tmp_path / "export")
    folder, cache = str(tmp_path / "export"), str(tmp_path / "cache")
    labels = datasets.load_dataset(folder, "labels", split="test", cache_dir=cache)
    assert {(row["query_id"], row["code_id"], row["relevance"]) for row in labels} == {
        (label.query_id, label.code_id, label.relevance) for label in of.labels
    }
    codes = datasets.load_dataset(folder, "codes", split="test", cache_dir=cache)
    assert set(codes["text"]) == {code.text for code in of.codes}


def test_a_task_of_mteb_names_the_languages_of_the_benchmarks_own_codes() -> None:
    assert code_languages(benchmark()) == ["python-Code"]
    codes = [Code.of("f", language=name) for name in ("java", "go", "java")]
    of = benchmark().model_copy(update={"codes": codes})
    assert code_languages(of) == ["go-Code", "java-Code"]


def test_mteb_loads_and_scores_code_of_all_languages_that_are_read() -> None:
    of = benchmark()
    names = ("go", "java", "javascript", "php", "", "ruby", "rust", "of-no-list")
    codes = [
        code.model_copy(update={"language": name})
        for code, name in zip(of.codes, names, strict=True)
    ]
    of = of.model_copy(update={"codes": tuple(codes)})
    check_mteb(ranked(of), of)
    task = mteb_task(of)
    six = {f"{name}-Code" for name in ("go", "java", "javascript", "php", "python", "ruby")}
    assert set(task.metadata.eval_langs) == {"eng-Latn", "rust-Code", *six}
    task.load_data()
    part = task.dataset["default"]["test"]
    assert set(part["corpus"]["id"]) == {code.code_id for code in of.codes}
    assert set(part["relevant_docs"]) == set(part["queries"]["id"])


def test_a_grade_with_a_fraction_is_refused_as_a_task_of_mteb() -> None:
    pytest.importorskip("mteb", reason="the extra 'interchange' is not installed")
    of = benchmark()
    labels = (of.labels[0].model_copy(update={"relevance": 1.5}), *of.labels[1:])
    task = mteb_task(of.model_copy(update={"labels": labels}))
    with pytest.raises(PublishError, match="mteb takes whole grades only"):
        task.load_data()


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif("COSQA_DATA" not in os.environ, reason="COSQA_DATA names no folder")
@pytest.mark.parametrize(("method", "reciprocal_rank"), [("bm25", 0.335), ("bag-of-words", None)])
def test_cosqas_development_queries_get_the_same_scores_from_all(
    tmp_path: Path, method: str, reciprocal_rank: float | None
) -> None:
    settings = SourceSettings(name="cosqa", path=Path(os.environ["COSQA_DATA"]))
    collected = read_whole(open_source(settings))["cosqa"]
    origin = collected.labels[0].origin
    asked = {label.query_id for label in collected.labels}
    of = Benchmark(
        name="cosqa-dev",
        label_origin=origin,
        queries=tuple(query for query in collected.queries if query.query_id in asked),
        codes=collected.codes,
        labels=collected.labels,
        sources=(collected.info,),
    )
    rankings = retrievers.get(method)().rank(of.queries, of.codes, 1000)
    if reciprocal_rank:
        found = mean(evaluate(rankings, qrels_of(of.labels), ["MRR"])["MRR"].values())
        assert found == pytest.approx(reciprocal_rank, abs=0.002)
    check_beir(rankings, of, tmp_path)
    check_mteb(rankings, of)
