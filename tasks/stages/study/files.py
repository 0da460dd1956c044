"""Readers of exported benchmarks and of files of compared annotators, for studies."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from infra.errors import SourceError
from tasks.inputs.formats.export import read_exported
from tasks.inputs.lines import decode_json
from tasks.inputs.text import printable, read_text
from tasks.studies import Annotator, BenchmarkFacts


def matches_of(folder: Path) -> dict[str, int]:
    """Return query → number of its relevant codes, for all queries of an export.

    Raises:
        PublishError: A table of the export is missing or changed.
    """
    labels = read_exported(folder, "labels", ["query_id", "relevance"])
    queries = read_exported(folder, "queries", ["query_id"])["query_id"]
    relevant = labels.filter(pc.greater(labels["relevance"], 0))
    counted = relevant.group_by("query_id").aggregate([("relevance", "count")])
    numbers = dict(
        zip(counted["query_id"].to_pylist(), counted["relevance_count"].to_pylist(), strict=True)
    )
    return {query: numbers.get(query, 0) for query in queries.to_pylist()}


def benchmark_facts(folder: Path) -> BenchmarkFacts:
    """Return the counts over an export's labels; texts of codes are read as columns only.

    Raises:
        PublishError: A table of the export is missing or changed.
    """
    labels = read_exported(folder, "labels", ["query_id", "code_id", "relevance"])
    codes = read_exported(folder, "codes", ["code_id", "text"])
    labelled = codes.filter(pc.is_in(codes["code_id"], value_set=pc.unique(labels["code_id"])))
    relevant = labels.filter(pc.greater(labels["relevance"], 0))
    answered = relevant.group_by("code_id").aggregate([("query_id", "count")])
    return BenchmarkFacts(
        pairs=labels.num_rows,
        codes=labelled.num_rows,
        mean_characters=pc.mean(pc.utf8_length(labelled["text"])).as_py() or 0.0,
        matches_of_queries=_histogram(pa.array(list(matches_of(folder).values()), pa.int64())),
        queries_of_codes=_histogram(answered["query_id_count"]),
    )


def _histogram(values: pa.Array | pa.ChunkedArray) -> dict[int, int]:
    """Return value → how often it occurs, by rising value."""
    counted = pc.value_counts(values).to_pylist()
    return dict(sorted((row["values"], row["counts"]) for row in counted))


class _Score(BaseModel):
    """An entry of the file; other fields are passed over."""

    model_config = ConfigDict(extra="ignore")

    name: str
    model: str = ""
    pairs: int
    accuracy: float | None
    alpha_with_people: float | None = None


def read_annotators(files: Iterable[Path]) -> list[Annotator]:
    """Return the annotators of files that ``cosqa compare-annotators --output`` has written.

    Raises:
        SourceError: A file is missing or is none that the command writes.
    """
    return [
        Annotator(
            configuration=score.name,
            model=score.model,
            accuracy=score.accuracy,
            pairs=score.pairs,
            alpha_with_people=score.alpha_with_people,
            file=printable(file),
        )
        for file in files
        for score in _read_scores(file)
    ]


def _read_scores(file: Path) -> list[_Score]:
    content = decode_json(read_text(file), printable(file))
    try:
        return TypeAdapter(list[_Score]).validate_python(content)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"])) or "the whole"
        raise SourceError(
            f"{file}: {place}: {problem['msg']}; give a file that `cosqa compare-annotators "
            "--output FILE` has written"
        ) from None
