"""Laws of evidence as a stream: files hold what annotations say, in any size of batches."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infra.errors import PublishError
from infra.records import Annotation, Execution, ExecutionResult, OracleReport
from tasks.benchmarks import RecordedAnnotations, read_manifest, write_benchmark
from tasks.benchmarks.evidence import ExportedAnnotations
from tasks.benchmarks.manifest import write_manifest
from tasks.inputs.formats.export import read_benchmark
from tests.fakes.benchmarks import agents_benchmark, people_benchmark

[ONE] = agents_benchmark().evidence
SEVERAL = tuple(
    ONE.model_copy(update={"query_id": ONE.query_id, "code_id": f"c{number}"})
    for number in range(10)
)


def exported(folder: Path, annotations: tuple[Annotation, ...]) -> ExportedAnnotations:
    benchmark = agents_benchmark()
    evidence = RecordedAnnotations(annotations)
    write_benchmark(benchmark.model_copy(update={"evidence": evidence}), folder)
    return ExportedAnnotations(folder)


def test_row_groups_have_one_size_whatever_the_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.benchmarks.tables._ANNOTATIONS", 4)
    contents = []
    for size in (1, 3, 10):
        monkeypatch.setattr("tasks.benchmarks.evidence._BATCH", size)
        evidence = exported(tmp_path / str(size), SEVERAL[::-1])
        assert tuple(evidence) == SEVERAL
        file = tmp_path / str(size) / "evidence.parquet"
        groups = pq.read_metadata(file)
        assert [groups.row_group(n).num_rows for n in range(3)] == [4, 4, 2]
        contents.append(file.read_bytes())
    assert len(set(contents)) == 1


def test_the_annotations_of_some_pairs_or_codes_are_found(tmp_path: Path) -> None:
    evidence = exported(tmp_path / "b", SEVERAL)
    wanted = [SEVERAL[7].key, SEVERAL[2].key, ("q", "c3")]
    assert evidence.of_pairs(wanted) == [SEVERAL[2], SEVERAL[7]]
    assert evidence.of_pairs([]) == []
    assert list(evidence.filter_codes(pa.array(["c1", "c5"]))) == [SEVERAL[1], SEVERAL[5]]
    assert len(evidence) == 10


@pytest.mark.parametrize("size", [1, 4, 100])
def test_other_evidence_of_some_pairs_stands_in_its_place_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    evidence = exported(tmp_path / "b", SEVERAL)
    monkeypatch.setattr("tasks.benchmarks.evidence._BATCH", size)
    other = [
        ONE.model_copy(update={"code_id": f"c{place}", "recipe_id": recipe})
        for place, recipe in ((9, "z"), (4, "z"), (4, "a"), (40, "z"), (0, "z"))
    ]
    expected = [*SEVERAL[1:4], *SEVERAL[5:9], *other]
    found = evidence.replaced_by(other)
    ordered = sorted(expected, key=lambda each: (each.query_id, each.code_id))
    assert list(found) == ordered
    assert len(found) == len(ordered) == 12
    assert list(evidence.replaced_by(())) == [*SEVERAL]
    assert list(RecordedAnnotations(()).replaced_by(other[:1])) == other[:1]


def test_pairs_that_rest_on_one_kind_of_evidence_are_the_same_from_a_file(tmp_path: Path) -> None:
    proved = {"support": "valid_oracle"}
    several = tuple(
        each.model_copy(update=proved if place % 3 else {}) for place, each in enumerate(SEVERAL)
    )
    wanted = [
        {"query_id": each.query_id, "code_id": each.code_id}
        for each in several
        if each.support == "valid_oracle"
    ]
    for evidence in (RecordedAnnotations(several), exported(tmp_path / "b", several)):
        assert evidence.pairs_with_support("valid_oracle").to_pylist() == wanted
    assert len(wanted) == 6
    file = tmp_path / "b" / "evidence.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["support"]), file)
    older = ExportedAnnotations(tmp_path / "b")
    assert older.pairs_with_support("valid_oracle").num_rows == 0
    assert older.pairs_with_support("undecided").num_rows == 10


def test_evidence_of_an_older_export_is_read_and_written_with_all_columns(tmp_path: Path) -> None:
    folder = tmp_path / "older"
    exported(folder, (ONE,))
    file = folder / "evidence.parquet"
    [row] = pq.read_table(file).to_pylist()
    runs = [{k: v for k, v in run.items() if k != "repairs"} for run in row["executions"]]
    pq.write_table(pa.Table.from_pylist([row | {"executions": runs}]), file)
    older = read_benchmark(folder)
    with pytest.raises(PublishError, match=r"evidence\.parquet"):
        list(older.evidence)
    write_manifest(read_manifest(folder), folder)
    assert list(older.evidence) == [ONE]
    write_benchmark(older, tmp_path / "again")
    assert list(read_benchmark(tmp_path / "again").evidence) == [ONE]


def test_an_export_without_evidence_has_none(tmp_path: Path) -> None:
    write_benchmark(people_benchmark(), tmp_path / "b")
    evidence = read_benchmark(tmp_path / "b").evidence
    assert (len(evidence), list(evidence)) == (0, [])


def test_what_protected_a_verdict_stands_beside_it_in_the_published_evidence(
    tmp_path: Path,
) -> None:
    reports = [
        OracleReport(protection="separate"),
        OracleReport(protection="shared", unprotected_because="an object of its own class"),
    ]
    runs = tuple(
        Execution(round=n, program="p", result=ExecutionResult(outcome="passed"), oracle=report)
        for n, report in enumerate(reports)
    )
    evidence = exported(tmp_path / "b", (ONE.model_copy(update={"executions": runs}),))
    [row] = pq.read_table(tmp_path / "b" / "evidence.parquet").to_pylist()
    oracles = [json.loads(run["oracle"]) for run in row["executions"]]
    told = [(oracle["protection"], oracle.get("unprotected_because", "")) for oracle in oracles]
    assert told == [("separate", ""), ("shared", "an object of its own class")]
    assert [run.oracle for run in next(iter(evidence)).executions] == reports
