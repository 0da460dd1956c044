"""Training data: pairs to train by, dev queries to choose the epoch by, test queries.

Data comes split, as a folder of parts or as a benchmark with a split, or is split here by query or
by repository. Training pairs of dev or test queries are left out.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from infra.errors import SourceError
from infra.identity import digest
from infra.records import caseless
from infra.settings import TrainingSettings
from tasks.benchmarks.benchmark import Benchmark, benchmark_fingerprint, fit_name
from tasks.benchmarks.splits import (
    SPLITS,
    published_split,
    repositories_by_query,
    split_queries,
    split_repositories,
)
from tasks.inputs.formats import (
    BenchmarkFormat,
    PairSplit,
    at,
    benchmark_at,
    find_split,
    read,
    split_path,
)
from tasks.inputs.pairs import PAIR_FORMS, Pairs, pairs_of
from tasks.inputs.text import printable

_DEV_OF_TRAINING = "9:0:1"  # where a folder of parts has no dev part: the last tenth


@dataclass(frozen=True)
class TrainingData:
    """Training pairs, dev queries and test queries.

    Attributes:
        name: The data's name.
        train: The training pairs; several right codes of a query are pairs of their own.
        dev: The queries that choose the best epoch, over their code base.
        test: The test queries.
        dropped: Pairs of dev or test queries that were left out of training.
        licences: Licences of the data's code and queries, in alphabetical order.
    """

    name: str
    train: Pairs
    dev: Benchmark
    test: Benchmark
    dropped: int
    licences: tuple[str, ...]

    @cached_property
    def fingerprint(self) -> str:
        """Digest of training pairs and dev queries."""
        return digest("training", self.train.fingerprint, benchmark_fingerprint(self.dev))


def read_training_data(path: Path, settings: TrainingSettings, test: Path | None) -> TrainingData:
    """Return the data at a path, split.

    Args:
        path: A folder with parts (``train``, ``dev`` or ``valid``, ``test``: files or folders that
            `read_pairs` reads, or splits of a BEIR folder), an exported benchmark with or without a
            split of its own or of its source's (CoSQA's), or anything else that `read_pairs` reads.
        settings: The ratio and the unit of the split.
        test: A benchmark to test on in place of the data's own part.
    """
    if path.is_dir() and find_split(path, "train"):
        train, dev, own_test = _given_parts(path, settings, has_test=test is None)
    else:
        train, dev, own_test = _parts_of(read(path), settings)
    tested = _benchmark_to_test_on(test) if test else own_test
    assert tested is not None  # noqa: S101 - without a test, the data has its own
    known = {caseless(query.text) for part in (dev, tested) for query in part.queries}
    given = pairs_of(train)
    pairs = Pairs.of(
        given.name,
        (
            (query, code)
            for query, code in zip(given.queries, given.codes, strict=True)
            if caseless(query) not in known
        ),
        Counter(given.left_out),
    )
    # With one training pair there is no wrong code.
    for part, number, fewest in (
        ("training", len(pairs), 2),
        ("dev", _right_pairs(dev), 1),
        ("test", _right_pairs(tested), 1),
    ):
        if number < fewest:
            raise SourceError(
                f"{printable(path)}: {number} {part} pairs of a query and a right code are too few "
                f"to train by: give more data, or another split than {settings.split}"
            )
    return TrainingData(
        name=train.name,
        train=pairs,
        dev=dev,
        test=tested,
        dropped=len(given) - len(pairs),
        licences=_licences(train),
    )


def read_corpus(path: Path, test: Path) -> TrainingData:
    """Return all code at a path, none of whose queries is read, and queries to test on.

    Args:
        path: An exported benchmark, with or without queries, a folder with parts, or lines with
            ``code``, as `tasks.inputs.formats` reads them.
        test: A benchmark to test on, whose code base is searched, and so belongs to the corpus.
    """
    tested = _benchmark_to_test_on(test)
    given = at(path)
    found = given.benchmark() if isinstance(given, BenchmarkFormat) else None
    if found is None and path.is_dir() and find_split(path, "train"):
        found = _part(path, "train")
    codes = [code.text for code in found.codes] if found else [*given.code_texts()]
    if not codes:
        raise SourceError(f"{printable(path)} holds no code: {PAIR_FORMS}")
    name = found.name if found else fit_name(given.name, "corpus")
    return TrainingData(
        name=name,
        train=Pairs(name, (), tuple(codes), fingerprint=digest("corpus", *codes)),
        dev=tested,
        test=tested,
        dropped=0,
        licences=_licences(found) if found else (),
    )


def _benchmark_to_test_on(path: Path) -> Benchmark:
    found = benchmark_at(path, usual="test")
    if found is None:
        raise SourceError(f"{printable(path)} is no benchmark to test on")
    return found.benchmark()


def _licences(benchmark: Benchmark) -> tuple[str, ...]:
    of_codes = {code.licence for code in benchmark.codes}
    return tuple(sorted({*of_codes, *(info.licence for info in benchmark.sources)} - {""}))


def _given_parts(
    folder: Path, settings: TrainingSettings, *, has_test: bool
) -> tuple[Benchmark, Benchmark, Benchmark | None]:
    """Return the parts of a folder; a dev part that it lacks is taken from training."""
    train = _part(folder, "train")
    test = _part(folder, "test") if has_test else None
    dev_names: tuple[PairSplit, ...] = ("dev", "valid")
    dev_name = next((name for name in dev_names if find_split(folder, name)), None)
    if dev_name:
        return train, _part(folder, dev_name), test
    parts = _parts_of(train, settings.model_copy(update={"split": _DEV_OF_TRAINING}))
    return parts[0], parts[2], test


def _part(folder: Path, name: PairSplit) -> Benchmark:
    """Return a part, which is named as the folder is."""
    part = read(split_path(folder, name))
    return part.model_copy(update={"name": fit_name(folder.resolve().name, "pairs")})


def _parts_of(
    benchmark: Benchmark, settings: TrainingSettings
) -> tuple[Benchmark, Benchmark, Benchmark]:
    """Return a benchmark's training, dev and test queries with their labels, over all its codes."""
    split = benchmark.splits or published_split(benchmark.queries) or _split(benchmark, settings)
    parts = []
    for part in SPLITS:
        queries = tuple(each for each in benchmark.queries if split.get(each.query_id) == part)
        labels = tuple(each for each in benchmark.labels if split.get(each.query_id) == part)
        parts.append(
            benchmark.model_copy(update={"queries": queries, "labels": labels, "splits": {}})
        )
    train, dev, test = parts
    return train, dev, test


def _split(benchmark: Benchmark, settings: TrainingSettings) -> dict[str, str]:
    """Return query → part, of the queries with a right code."""
    if settings.split_by == "repository":
        homes = repositories_by_query(benchmark.codes, benchmark.labels)
        return split_repositories(homes, settings.split, seed=0)
    queries = (label.query_id for label in benchmark.labels if label.relevance > 0)
    return split_queries(dict.fromkeys(queries, 1), settings.split, seed=0)


def _right_pairs(benchmark: Benchmark) -> int:
    return sum(label.relevance > 0 for label in benchmark.labels)
