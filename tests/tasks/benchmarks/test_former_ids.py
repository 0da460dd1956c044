"""Laws of exports with ids of earlier releases: read by their own ids, compared by those of today.

Covers `tasks.benchmarks.former_ids`.
"""

from pathlib import Path

import pytest

from infra.errors import PublishError
from infra.identity import MARK_DIGITS, former_id
from tasks.benchmarks import Benchmark, benchmark_fingerprint, read_benchmark
from tasks.benchmarks.benchmark import digest_of_records
from tasks.benchmarks.former_ids import full_ids, read_labels, with_full_ids
from tests.fakes.benchmarks import agents_benchmark, people_benchmark
from tests.fakes.former import with_former_ids, write_former

SPLIT = people_benchmark().model_copy(
    update={"splits": {query.query_id: "train" for query in people_benchmark().queries}}
)


def test_a_fingerprint_of_20_digits_is_the_one_that_earlier_releases_gave() -> None:
    former = with_former_ids(people_benchmark())
    assert benchmark_fingerprint(former, digits=MARK_DIGITS) == "ce651c5cb757ddf1e682"
    assert len(benchmark_fingerprint(former)) == 32


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(people_benchmark(), id="people"),
        pytest.param(agents_benchmark(demo=False), id="agents"),
        pytest.param(SPLIT, id="split"),
    ],
)
def test_an_export_of_an_earlier_release_is_verified_and_read_with_its_own_ids(
    made: Benchmark, tmp_path: Path
) -> None:
    write_former(made, tmp_path)
    found = read_benchmark(tmp_path)
    assert [code.code_id for code in found.codes] == sorted(
        former_id(code.code_id) for code in made.codes
    )
    lifted = with_full_ids(found)
    undecided = digest_of_records(made.undecided)  # the export does not list them
    assert benchmark_fingerprint(lifted, undecided) == benchmark_fingerprint(made)
    assert lifted.splits == made.splits
    keys = {label.key for label in made.labels}
    assert {item.key for item in lifted.labels} == keys
    assert [item.key for item in lifted.evidence.of_pairs(keys)] == [
        item.key for item in made.evidence.of_pairs(keys)
    ]
    assert len(lifted.evidence) == len(made.evidence)
    assert lifted.demo is made.demo


def test_an_export_of_an_earlier_release_that_was_changed_is_refused(tmp_path: Path) -> None:
    made = people_benchmark()
    manifest = write_former(made, tmp_path)
    turned = made.labels[0].model_copy(update={"relevance": 0.0})
    write_former(made.model_copy(update={"labels": (turned, *made.labels[1:])}), tmp_path)
    text = (tmp_path / "manifest.json").read_text()
    other = read_benchmark(tmp_path)
    found = benchmark_fingerprint(other, digits=MARK_DIGITS)
    (tmp_path / "manifest.json").write_text(text.replace(found, manifest.fingerprint))
    with pytest.raises(PublishError, match="holds another benchmark"):
        read_benchmark(tmp_path)


def test_labels_of_an_earlier_export_are_read_with_the_ids_of_today(tmp_path: Path) -> None:
    made = people_benchmark()
    write_former(made, tmp_path)
    rows = read_labels(tmp_path, ["query_id", "code_id", "origin"]).to_pylist()
    assert {(row["query_id"], row["code_id"]) for row in rows} == {
        label.key for label in made.labels
    }


def test_a_benchmark_with_ids_of_today_or_of_others_stays_as_it_is() -> None:
    made = people_benchmark()
    assert full_ids(made) == {}
    assert with_full_ids(made) is made
    code = made.codes[0].model_copy(update={"code_id": "c00000000000000000000"})
    foreign = made.model_copy(update={"codes": (code, *made.codes[1:]), "labels": made.labels[:1]})
    assert with_full_ids(foreign) is foreign
