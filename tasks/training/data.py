"""What a model is trained on: pairs to train by, dev queries to choose by, test queries.

Data comes split, as a folder of parts or as a benchmark with a split, or is split here: by query or
by repository, so that queries of equal or nearly equal code stay together. What of the test is
known from training all the same is counted (`Leakage`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from infra.errors import SourceError
from infra.identity import digest
from infra.ids import CodeId, QueryId
from infra.records import Code, Label, Query, Record, SourceInfo, caseless
from infra.settings.training import TrainingSettings
from tasks.benchmarks.beir import beir_split, read_beir
from tasks.benchmarks.benchmark import Benchmark, benchmark_fingerprint, fit_name
from tasks.benchmarks.pair_splits import PairSplit, find_split, split_path
from tasks.benchmarks.pairs import Pairs, benchmark_at, pairs_of, read_pairs
from tasks.benchmarks.splits import (
    SPLITS,
    count_matches,
    published_split,
    repository_of,
    split_queries,
)
from tasks.files.text import printable
from tasks.filters.near_duplicates import clusters

_FEWEST = 2  # pairs: with one there is no other code to be told from
_DEV_OF_TRAINING = "9:0:1"  # where a folder of parts has no dev part: the last tenth
_MOST_MATCHES = 5  # by which a split tells queries apart; one with more is like one with so many


class Leakage(Record):
    """What of the test queries was seen in training.

    Attributes:
        queries: Test queries.
        same_query: Those whose text, capitals apart, is that of a training query.
        same_code: Those of which a right code is one of a training pair.
        near_code: Those of which one is in a cluster of near duplicates (Allamanis 2019) with it.
        dropped: Training pairs that were left out for the sake of dev and test.
    """

    queries: int
    same_query: int
    same_code: int
    near_code: int
    dropped: int


@dataclass(frozen=True)
class TrainingData:
    """Training pairs, dev queries and test queries.

    Attributes:
        name: What the data is called.
        train: The pairs to train by; several right codes of a query are pairs of their own.
        dev: The queries that decide which epoch is the best, over their code base.
        test: Those that nothing was decided by.
        leakage: What of the test was seen in training.
        licences: Of the data's code and queries, in alphabetical order.
    """

    name: str
    train: Pairs
    dev: Benchmark
    test: Benchmark
    leakage: Leakage
    licences: tuple[str, ...]

    @cached_property
    def fingerprint(self) -> str:
        """Digest of what is trained and chosen by."""
        return digest("training", self.train.fingerprint, benchmark_fingerprint(self.dev))


def read_training_data(path: Path, settings: TrainingSettings, test: Path | None) -> TrainingData:
    """Return the data at a path, split.

    Args:
        path: A folder with parts (``train``, ``dev`` or ``valid``, ``test``: files or folders that
            `read_pairs` reads, or splits of a BEIR folder), an exported benchmark with or without a
            split of its own or of its source's (CoSQA's), or anything else that `read_pairs` reads.
        settings: How it is split, and what to do about training pairs of test queries.
        test: A benchmark to test on in place of the data's own part.

    Raises:
        SourceError: There is nothing to read, a part has no right code, or a training query is a
            dev or test query and that is to be refused.
        PublishError: A file of an export is missing or changed.
    """
    if path.is_dir() and find_split(path, "train"):
        parts = _given_parts(path, settings, has_test=test is None)
    else:
        whole = benchmark_at(path) or _as_benchmark(read_pairs(path))
        parts = _parts_of(whole, settings)
    train, dev, own_test = parts
    tested = benchmark_at(test, usual="test") if test else own_test
    if tested is None:
        raise SourceError(f"{printable(test or path)} is no benchmark to test on")
    name = train.name
    pairs, dropped = _without_known(pairs_of(train), (dev, tested), settings, path)
    for what, number in (("training", len(pairs)), ("dev", _right(dev)), ("test", _right(tested))):
        if number < (_FEWEST if what == "training" else 1):
            raise SourceError(
                f"{printable(path)}: {number} {what} pairs of a query and a right code are too few "
                f"to train by: give more data, or another split than {settings.split}"
            )
    licences = {
        *(code.licence for code in train.codes),
        *(info.licence for info in train.sources),
    } - {""}
    return TrainingData(
        name=name,
        train=pairs,
        dev=dev,
        test=tested,
        leakage=_leakage(pairs, tested, dropped),
        licences=tuple(sorted(licences)),
    )


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
    path = split_path(folder, name)
    if split := beir_split(path):
        return read_beir(*split)
    return _as_benchmark(read_pairs(path), folder.resolve().name)


def _as_benchmark(pairs: Pairs, name: str = "") -> Benchmark:
    """Return pairs as a benchmark whose codes are those of the pairs."""
    both = [*zip(map(Query.of, pairs.queries), map(Code.of, pairs.codes), strict=True)]
    queries = {query.query_id: query for query, _ in both}
    codes = {code.code_id: code for _, code in both}
    labels = {
        (query.query_id, code.code_id): Label(
            query_id=query.query_id, code_id=code.code_id, origin="pairs", relevance=1.0
        )
        for query, code in both
    }
    return Benchmark(
        name=fit_name(name or pairs.name, "pairs"),
        label_origin="pairs",
        queries=tuple(queries.values()),
        codes=tuple(codes.values()),
        labels=tuple(labels.values()),
        sources=(
            SourceInfo(name="pairs", licence="unknown", revision=pairs.fingerprint, location=""),
        ),
    )


def _parts_of(
    benchmark: Benchmark, settings: TrainingSettings
) -> tuple[Benchmark, Benchmark, Benchmark]:
    """Return a benchmark's training, dev and test queries with their labels, over all its codes."""
    split = benchmark.splits or published_split(benchmark.queries) or _split(benchmark, settings)
    train, dev, test = (_of_queries(benchmark, split, part) for part in SPLITS)
    return train, dev, test


def _split(benchmark: Benchmark, settings: TrainingSettings) -> dict[str, str]:
    """Return query → part; queries of one text, repository, or equal or near code stay together.

    A group of queries goes where `split_queries` puts its first one, by that one's matches.
    """
    relevant = [label for label in benchmark.labels if label.relevance > 0]
    codes = {code.code_id: code for code in benchmark.codes}
    ordered = sorted({label.code_id for label in relevant})
    cluster = clusters([codes[code_id].text for code_id in ordered])
    keys: dict[str, list[str]] = {}
    for code_id, number in zip(ordered, cluster, strict=True):
        keys[code_id] = [f"cluster {number}"]
        if settings.split_by == "repository":
            keys[code_id].append(f"repository {repository_of(codes[code_id])}")
    texts = {query.query_id: f"query {caseless(query.text)}" for query in benchmark.queries}
    group = _joined(
        (label.query_id, key)
        for label in relevant
        for key in (texts[label.query_id], *keys[label.code_id])
    )
    matches = count_matches(group, (label.query_id for label in relevant))
    first: dict[str, str] = {}
    for query in sorted(group):
        first.setdefault(group[query], query)
    numbers = {query: min(matches[query], _MOST_MATCHES) for query in first.values()}
    placed = split_queries(numbers, settings.split, seed=0)
    return {query: placed[first[name]] for query, name in group.items()}


def _joined(links: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return query → its group: queries that share a key, directly or by others, have one."""
    members: dict[str, list[str]] = {}
    group: dict[str, str] = {}
    owner: dict[str, str] = {}
    for query, key in links:
        ours = group.setdefault(query, query)
        members.setdefault(ours, [query])
        theirs = owner.get(key)
        owner.setdefault(key, query)
        if theirs is None or group[theirs] == ours:
            continue
        small, large = sorted((ours, group[theirs]), key=lambda name: len(members[name]))
        for each in members[small]:
            group[each] = large
        members[large] += members.pop(small)
    return group


def _of_queries(benchmark: Benchmark, split: Mapping[str, str], part: str) -> Benchmark:
    """Return the queries of a part and their labels; the code base stays whole."""
    queries = tuple(each for each in benchmark.queries if split.get(each.query_id) == part)
    labels = tuple(each for each in benchmark.labels if split.get(each.query_id) == part)
    return benchmark.model_copy(update={"queries": queries, "labels": labels, "splits": {}})


def _right(benchmark: Benchmark) -> int:
    return sum(label.relevance > 0 for label in benchmark.labels)


def _without_known(
    pairs: Pairs, parts: Sequence[Benchmark], settings: TrainingSettings, path: Path
) -> tuple[Pairs, int]:
    """Return the training pairs without those of dev and test queries, and how many these are.

    Raises:
        SourceError: There are some, and they are to be refused.
    """
    asked = {caseless(query.text) for part in parts for query in part.queries}
    kept = [
        pair
        for pair in zip(pairs.queries, pairs.codes, strict=True)
        if caseless(pair[0]) not in asked
    ]
    known = len(pairs) - len(kept)
    if not known:
        return pairs, 0
    if settings.overlap == "refuse":
        query = next(each for each in pairs.queries if caseless(each) in asked)
        raise SourceError(
            f"{printable(path)}: {known:,} of {len(pairs):,} training pairs are of dev or test "
            f"queries, {query[:80]!r} among them, so that scores would be of what was learnt by "
            "heart: give other data or another --test, or leave these pairs out by the setting "
            "training.overlap = drop"
        )
    return Pairs.of(pairs.name, kept, Counter(pairs.left_out)), known


def _leakage(pairs: Pairs, test: Benchmark, dropped: int) -> Leakage:
    right: dict[QueryId, list[CodeId]] = {}
    for label in test.labels:
        if label.relevance > 0:
            right.setdefault(label.query_id, []).append(label.code_id)
    wanted = {code_id for codes in right.values() for code_id in codes}
    texts = {code.code_id: code.text for code in test.codes if code.code_id in wanted}
    trained = list(dict.fromkeys(pairs.codes))
    numbers = clusters([*trained, *texts.values()])
    seen = set(numbers[: len(trained)])
    near = {
        code for code, number in zip(texts, numbers[len(trained) :], strict=True) if number in seen
    }
    known = set(trained)
    same = {code for code, text in texts.items() if text in known}
    asked = set(map(caseless, pairs.queries))
    queries = {query.query_id: query.text for query in test.queries}
    return Leakage(
        queries=len(right),
        same_query=sum(caseless(queries[query]) in asked for query in right),
        same_code=sum(not same.isdisjoint(codes) for codes in right.values()),
        near_code=sum(not near.isdisjoint(codes) for codes in right.values()),
        dropped=dropped,
    )
