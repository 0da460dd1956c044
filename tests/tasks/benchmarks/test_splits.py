"""Laws of the split of a benchmark's queries, in memory and in an export."""

import csv
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tasks.benchmarks import benchmark_fingerprint, read_manifest, write_benchmark
from tasks.benchmarks.splits import count_matches, split_queries, split_repositories
from tasks.inputs.formats.export import read_benchmark
from tests.fakes.benchmarks import QUERIES, people_benchmark

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


@pytest.mark.parametrize("old", [{"code_base", "splits"}])
def test_an_export_of_an_earlier_release_is_still_read(tmp_path: Path, old: set[str]) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    manifest = read_manifest(tmp_path / "b")
    (tmp_path / "b" / "manifest.json").write_text(manifest.model_dump_json(exclude=old))
    assert read_manifest(tmp_path / "b") == manifest


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
