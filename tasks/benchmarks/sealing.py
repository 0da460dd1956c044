"""Sealed answers: the labels of a benchmark's test part in a file of the benchmark's keeper.

The export has the checksums of the salt and of the salted answers, so that whoever scores against a
file of answers knows that they are those of the day of publication. Nothing else in an export tells
of sealed answers: undecided pairs, labelling rounds and evidence of their queries are left out too.
"""

import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter, ValidationError

from infra.errors import PublishError
from infra.files import atomic_write
from infra.records import Label, Record
from tasks.benchmarks.benchmark import Benchmark, Seal, columns_of


class SealedAnswers(Record):
    """The answers of one benchmark, for its keeper.

    Attributes:
        benchmark: The benchmark's name.
        salt: Without it nobody can tell by trying which answers have the published checksum.
        labels: The labels of the test part, sorted.
    """

    benchmark: str
    salt: str
    labels: tuple[Label, ...]

    @property
    def seal(self) -> Seal:
        """The checksums that the export publishes."""
        rows = sorted(json.dumps(label.model_dump(), sort_keys=True) for label in self.labels)
        salted = json.dumps([self.salt, self.benchmark, rows])
        return Seal(salt=_sha256(self.salt), answers=_sha256(salted), labels=len(rows))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def answers_file(folder: Path, seal: Seal) -> Path:
    """Return the file of an export's answers: beside its folder, one for each version."""
    return folder.parent / f"{folder.name}.answers-{seal.answers[:12]}.json"


def seal_benchmark(benchmark: Benchmark, salt: str) -> tuple[Benchmark, SealedAnswers]:
    """Return a benchmark without the answers of its test part, and these.

    Without a split all queries are the test part. The queries themselves stay. The same salt gives
    the same seal.

    Raises:
        PublishError: No query of the test part has a label.
    """
    columns = columns_of(benchmark)
    queries = columns.queries.column("query_id").to_pylist()
    is_open = [benchmark.splits.get(query, "test") != "test" for query in queries]
    kept = pa.array([query for query, each in zip(queries, is_open, strict=True) if each])
    kept = kept.cast(pa.string())
    labels = columns.labels
    is_sealed = pc.invert(pc.is_in(labels.column("query_id"), value_set=kept))
    answers = sorted(labels.where(is_sealed), key=lambda label: label.key)
    if not answers:
        raise PublishError(
            f"{benchmark.name} has no label in its test part, so there is nothing to seal: give "
            "another split (publish.split), or leave --sealed out"
        )
    sealed = SealedAnswers(benchmark=benchmark.name, salt=salt, labels=tuple(answers))

    public = benchmark.model_copy(
        update={
            "labels": labels.among("query_id", kept),
            "stale": columns.stale.among("query_id", kept),
            "undecided": columns.undecided.among("query_id", kept),
            "evidence": benchmark.evidence.of_queries(kept),
            "sealed": sealed.seal,
        }
    )
    return public, sealed


def write_answers(answers: SealedAnswers, folder: Path) -> Path:
    """Write the answers of an export beside its folder, for their owner alone to read."""
    file = answers_file(folder, answers.seal)
    with atomic_write(file) as partial:
        partial.touch(mode=0o600)
        partial.write_text(answers.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return file


def read_answers(file: Path) -> SealedAnswers:
    """Return the answers of a file.

    Raises:
        PublishError: The file cannot be read, or is none of sealed answers.
    """
    try:
        return TypeAdapter(SealedAnswers).validate_json(file.read_bytes())
    except OSError as error:
        raise PublishError(f"answers {file} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        problem = ": ".join([*map(str, first["loc"]), first["msg"]])
        raise PublishError(
            f"{file} holds no sealed answers ({problem}): give the file that `cosqa publish "
            "--sealed` wrote beside the export"
        ) from None


def unseal_benchmark(benchmark: Benchmark, file: Path) -> Benchmark:
    """Return a sealed benchmark with its answers, once their checksums fit.

    Raises:
        PublishError: It is not sealed, or the file's answers are not those that were sealed.
    """
    if benchmark.sealed is None:
        raise PublishError(f"{benchmark.name} is not sealed: leave --answers {file} out")
    answers = read_answers(file)
    found, name = answers.seal, benchmark.name
    if answers.benchmark != name:
        raise PublishError(
            f"{file} has the answers of {answers.benchmark!r}, not of {name!r}: give the file that "
            f"was written beside {name}"
        )
    if found.salt != benchmark.sealed.salt:
        raise PublishError(
            f"the salt in {file} is not that by which {name} was sealed: it was changed, or seals "
            f"another export of that name; give the file as `cosqa publish` wrote it"
        )
    if found != benchmark.sealed:
        raise PublishError(
            f"the answers in {file} are not those that were sealed in {name} (SHA-256 "
            f"{found.answers[:12]}…, not {benchmark.sealed.answers[:12]}…): an answer was changed, "
            "or they are of another version; give the file as `cosqa publish` wrote it"
        )
    labels = columns_of(benchmark).labels.joined(answers.labels)
    return benchmark.model_copy(update={"labels": labels, "sealed": None})
