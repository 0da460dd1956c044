"""Laws of parts of the queries: splits, and sealed answers, which nothing tells and nobody changes.

Covers `splits`.
"""

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from infra.errors import PublishError
from tasks.benchmarks import benchmark_fingerprint, qrels_of, read_manifest, write_benchmark
from tasks.benchmarks.benchmark import Benchmark
from tasks.benchmarks.distractors import with_mutants
from tasks.benchmarks.sealing import (
    answers_file,
    read_answers,
    seal_benchmark,
    unseal_benchmark,
    write_answers,
)
from tasks.benchmarks.splits import count_matches, split_queries, split_repositories
from tasks.inputs.formats.export import read_benchmark
from tests.fakes.benchmarks import QUERIES, agents_benchmark, people_benchmark

_CHANGED = "an answer was changed"
SPLITS = dict(zip((query.query_id for query in QUERIES), ("train", "test", "dev"), strict=True))


def sealed_in(folder: Path, benchmark: Benchmark) -> tuple[Path, Path]:
    """Return a sealed export, and the file of its answers."""
    public, answers = seal_benchmark(benchmark, "a salt")
    write_benchmark(public, folder)
    return folder, write_answers(answers, folder)


@pytest.mark.parametrize("benchmark", [people_benchmark(), agents_benchmark()])
@pytest.mark.parametrize("splits", [{}, SPLITS])
def test_the_right_answers_give_the_labels_from_before_sealing(
    tmp_path: Path, benchmark: Benchmark, splits: dict[str, str]
) -> None:
    whole = benchmark.model_copy(update={"splits": splits})
    folder, file = sealed_in(tmp_path / "b", whole)
    opened = unseal_benchmark(read_benchmark(folder), file)
    assert qrels_of(opened.labels) == qrels_of(whole.labels)
    if not whole.undecided:
        assert benchmark_fingerprint(opened) == benchmark_fingerprint(whole)


def test_an_export_has_no_word_of_a_sealed_pair(tmp_path: Path) -> None:
    folder, file = sealed_in(
        tmp_path / "b", people_benchmark().model_copy(update={"splits": SPLITS})
    )
    read = read_benchmark(folder)
    sealed = QUERIES[1].query_id
    assert {label.query_id for label in read.labels} == {QUERIES[0].query_id}
    assert {label.query_id for label in read_answers(file).labels} == {sealed}
    assert sealed not in (folder / "beir" / "qrels" / "test.tsv").read_text("utf-8")
    assert read_manifest(folder).sealed == read_answers(file).seal
    assert file.parent == folder.parent, "the folder can be given away as it is"
    assert file.stat().st_mode & 0o077 == 0
    everything = sealed_in(tmp_path / "all", agents_benchmark())[0]
    read = read_benchmark(everything)
    assert (len(read.labels), len(read.undecided), len(read.evidence)) == (0, 0, 0)
    assert {query.query_id for query in read.queries} == {query.query_id for query in QUERIES}


def test_the_same_salt_gives_the_same_bytes_and_another_another_seal(tmp_path: Path) -> None:
    _, first = sealed_in(tmp_path / "b", people_benchmark())
    text = first.read_text("utf-8")
    _, second = sealed_in(tmp_path / "b", people_benchmark())
    assert (first, text) == (second, second.read_text("utf-8"))
    _, other = seal_benchmark(people_benchmark(), "another salt")
    assert answers_file(tmp_path / "b", other.seal) != first


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda c: c["labels"][0].update(relevance=1 - c["labels"][0]["relevance"]), _CHANGED),
        (lambda c: c["labels"][0].update(code_id=c["labels"][1]["code_id"]), _CHANGED),
        (lambda c: c["labels"].append(c["labels"][0]), _CHANGED),
        (lambda c: c["labels"].pop(), _CHANGED),
        (lambda c: c.update(salt=c["salt"] + "x"), "the salt in"),
        (
            lambda c: c.update(benchmark="theirs"),
            "has the answers of 'theirs', not of 'toy-people'",
        ),
        (lambda c: c.update(more=1), "holds no sealed answers"),
        (lambda c: c.update(labels={}), "holds no sealed answers"),
    ],
)
def test_other_answers_are_refused_by_name(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], named: str
) -> None:
    folder, file = sealed_in(tmp_path / "b", people_benchmark())
    content = json.loads(file.read_text("utf-8"))
    change(content)
    file.write_text(json.dumps(content), "utf-8")
    with pytest.raises(PublishError, match=named):
        unseal_benchmark(read_benchmark(folder), file)


def test_sealed_right_codes_get_no_mutants() -> None:
    public, _ = seal_benchmark(agents_benchmark(), "a salt")
    assert list(with_mutants(public, 9).codes) == list(public.codes)


def test_a_lost_or_cut_file_and_a_benchmark_without_seal_are_named(tmp_path: Path) -> None:
    folder, file = sealed_in(tmp_path / "b", people_benchmark())
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(PublishError, match="holds no sealed answers"):
        unseal_benchmark(read_benchmark(folder), file)
    with pytest.raises(PublishError, match="cannot be read: No such file"):
        unseal_benchmark(read_benchmark(folder), tmp_path / "lost.json")
    with pytest.raises(PublishError, match="toy-people is not sealed"):
        unseal_benchmark(people_benchmark(), file)
    unlabelled = people_benchmark().model_copy(update={"splits": dict.fromkeys(SPLITS, "train")})
    with pytest.raises(PublishError, match="nothing to seal"):
        seal_benchmark(unlabelled, "a salt")


def test_a_manifest_whose_seal_was_changed_is_refused(tmp_path: Path) -> None:
    folder, file = sealed_in(tmp_path / "b", people_benchmark())
    seal = read_answers(file).seal
    manifest = folder / "manifest.json"
    text = manifest.read_text("utf-8")
    manifest.write_text(text.replace(seal.answers, "0" * 64), "utf-8")
    with pytest.raises(PublishError, match="holds another benchmark than"):
        read_benchmark(folder)


MATCHES = {f"q{number}": number % 4 for number in range(103)}


def test_each_number_of_matches_is_cut_at_eight_and_one_tenth() -> None:
    parts = split_queries(MATCHES, "8:1:1", seed=0)
    counted = Counter((MATCHES[query], part) for query, part in parts.items())
    # 26 queries have 0, 1 or 2 matches, 25 have 3: int(.8 N), int(.1 N), the rest.
    for matches, sizes in {0: (20, 2, 4), 1: (20, 2, 4), 2: (20, 2, 4), 3: (20, 2, 3)}.items():
        assert tuple(counted[matches, part] for part in ("train", "dev", "test")) == sizes


def test_a_seed_gives_one_split_in_any_order_of_the_queries_and_another_seed_another() -> None:
    parts = split_queries(MATCHES, "8:1:1", seed=1)
    assert split_queries(dict(reversed(MATCHES.items())), "8:1:1", seed=1) == parts
    assert split_queries(MATCHES, "8:1:1", seed=2) != parts


def test_a_part_without_a_share_is_empty() -> None:
    assert set(split_queries(MATCHES, "1:0:1", seed=0).values()) == {"train", "test"}


def test_an_export_has_the_split_beside_its_queries_and_in_its_qrels(tmp_path: Path) -> None:
    whole = people_benchmark()
    parts = dict(zip((query.query_id for query in QUERIES), ("train", "test", "dev"), strict=True))
    benchmark = whole.model_copy(update={"splits": parts})
    assert benchmark_fingerprint(benchmark) != benchmark_fingerprint(whole)
    write_benchmark(benchmark, tmp_path / "b")
    assert read_benchmark(tmp_path / "b").splits == parts
    assert read_manifest(tmp_path / "b").splits == {"train": 1, "dev": 1, "test": 1}
    rows = pq.read_table(tmp_path / "b" / "splits.parquet").to_pylist()
    assert {row["query_id"]: row["split"] for row in rows} == parts
    assert "train 1, dev 1, test 1." in (tmp_path / "b" / "README.md").read_text()
    found: dict[tuple[str, str], str] = {}
    for file in (tmp_path / "b" / "beir" / "qrels").iterdir():
        with file.open(newline="") as stream:
            _, *lines = csv.reader(stream, delimiter="\t")
        found |= {(query, code): file.stem for query, code, _ in lines}
    assert found == {label.key: parts[label.query_id] for label in whole.labels}


def test_matches_are_relevant_codes() -> None:
    benchmark = people_benchmark()
    queries = [query.query_id for query in benchmark.queries]
    answered = [label.query_id for label in benchmark.labels if label.relevance > 0]
    assert list(count_matches(queries, answered).values()) == [1, 1, 0]


def test_a_repository_is_in_one_part_and_the_parts_have_about_their_shares() -> None:
    homes = {f"q{number}": f"owner/{number % 40}" for number in range(1_000)}
    parts = split_repositories(homes, "8:1:1", 0)
    assert parts.keys() == homes.keys()
    assert len({(homes[query], part) for query, part in parts.items()}) == 40
    assert Counter(parts.values()) == {"train": 800, "dev": 100, "test": 100}
    assert split_repositories(homes, "8:1:1", 0) == parts
    assert split_repositories(homes, "8:1:1", 1) != parts
