"""Laws of exported behaviours: labels of equal behaviour never differ without a stated reason.

Covers `tasks.benchmarks.behaviours`.
"""

import csv
from pathlib import Path

import pytest

from infra.errors import PublishError
from tasks.benchmarks import (
    Behaviour,
    Benchmark,
    read_benchmark,
    read_manifest,
    write_benchmark,
)
from tasks.benchmarks.redistribution import without_unlicensed
from tests.fakes.benchmarks import CODES, QUERIES, agents_benchmark

FIRST, SECOND = (0, 2), (0, 1)


def behaved(pair: tuple[int, int], label: int | None, agreed: int, **fields: object) -> Behaviour:
    query, code = pair
    row = {
        "query_id": QUERIES[query].query_id,
        "code_id": CODES[code].code_id,
        "recipe_id": "r1",
        "claims": ("1 => 2",),
        "outcomes": ("held",),
        "behaviour": "b",
        "label": label,
        "agreed": agreed,
        "reason": "",
    }
    return Behaviour.model_validate({**row, **fields})


def compared(*behaviours: Behaviour, labels: tuple[int, int] = (1, 1)) -> Benchmark:
    """Return a benchmark whose two labels are of one query, with behaviours."""
    benchmark = agents_benchmark()
    both = tuple(
        label.model_copy(
            update={
                "query_id": QUERIES[query].query_id,
                "code_id": CODES[code].code_id,
                "relevance": float(relevance),
            }
        )
        for label, (query, code), relevance in zip(
            benchmark.labels, (FIRST, SECOND), labels, strict=True
        )
    )
    return benchmark.model_copy(update={"labels": both, "behaviours": behaviours})


def test_behaviours_are_listed_counted_and_read_back(tmp_path: Path) -> None:
    rows = (behaved(FIRST, 1, 1), behaved(SECOND, 0, 1, reason="as another"))
    manifest = write_benchmark(compared(*rows), tmp_path / "b")
    assert (manifest.counts["changed_by_behaviour"], manifest.counts["contradictions"]) == (1, 0)
    assert "behaviours.parquet" in {file.path for file in manifest.files}
    assert sorted(read_benchmark(tmp_path / "b").behaviours, key=str) == sorted(rows, key=str)
    assert "behaviours.parquet" in (tmp_path / "b" / "README.md").read_text("utf-8")
    write_benchmark(read_benchmark(tmp_path / "b"), tmp_path / "c")
    first, second = (tmp_path / name / "behaviours.parquet" for name in "bc")
    assert first.read_bytes() == second.read_bytes()


def test_an_export_without_behaviours_is_as_before(tmp_path: Path) -> None:
    write_benchmark(agents_benchmark(), tmp_path)
    assert not (tmp_path / "behaviours.parquet").exists()
    assert "contradictions" not in read_manifest(tmp_path).counts
    assert read_benchmark(tmp_path).behaviours == ()


def test_a_contradiction_is_exported_with_its_reason_and_not_without(tmp_path: Path) -> None:
    told = {"reason": "the claims cannot tell them apart"}
    rows = (behaved(FIRST, 1, 1, **told), behaved(SECOND, 0, 0, **told))
    manifest = write_benchmark(compared(*rows, labels=(1, 0)), tmp_path / "b")
    assert (manifest.counts["changed_by_behaviour"], manifest.counts["contradictions"]) == (0, 2)
    untold = (rows[0], behaved(SECOND, 0, 0))
    with pytest.raises(PublishError, match=r"same behaviour.*does not say why.*cosqa annotate"):
        write_benchmark(compared(*untold, labels=(1, 0)), tmp_path / "c")


@pytest.mark.parametrize(
    "other",
    [{"behaviour": ""}, {"behaviour": "c"}],
    ids=["too little ran", "other behaviour"],
)
def test_labels_of_codes_that_behave_otherwise_may_differ(
    tmp_path: Path, other: dict[str, str]
) -> None:
    rows = (behaved(FIRST, 1, 1, **other), behaved(SECOND, None, 0))
    counts = write_benchmark(compared(*rows, labels=(1, 0)), tmp_path).counts
    assert (counts["changed_by_behaviour"], counts["contradictions"]) == (1, 0)


def test_labels_of_another_query_are_not_compared(tmp_path: Path) -> None:
    other = compared(behaved(FIRST, 1, 1), behaved((1, 1), 0, 0))
    labels = (other.labels[0], agents_benchmark().labels[1])
    assert labels[0].relevance != labels[1].relevance
    write_benchmark(other.model_copy(update={"labels": labels}), tmp_path)


def test_other_formats_have_the_exported_label(tmp_path: Path) -> None:
    rows = (behaved(FIRST, 1, 1), behaved(SECOND, 0, 1, reason="as another"))
    write_benchmark(compared(*rows), tmp_path)
    qrels = (tmp_path / "beir" / "qrels" / "test.tsv").read_text("utf-8").splitlines()
    found = {row["corpus-id"]: row["score"] for row in csv.DictReader(qrels, delimiter="\t")}
    assert found == {CODES[FIRST[1]].code_id: "1", CODES[SECOND[1]].code_id: "1"}


def test_behaviours_of_code_that_may_not_be_published_are_left_out() -> None:
    benchmark = compared(behaved(FIRST, 1, 1), behaved(SECOND, 1, 1))
    codes = [
        code.model_copy(update={"licence": "unknown" if place == SECOND[1] else "MIT"})
        for place, code in enumerate(benchmark.codes)
    ]
    kept = without_unlicensed(benchmark.model_copy(update={"codes": codes}))
    assert [item.code_id for item in kept.behaviours] == [CODES[FIRST[1]].code_id]
