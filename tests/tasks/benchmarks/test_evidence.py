"""Laws of evidence as a stream, and of specifications: tables, counted and read back."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infra.errors import PublishError
from infra.records import Annotation, Execution, ExecutionResult, OracleReport
from tasks.benchmarks import (
    Benchmark,
    QuerySpecification,
    RecordedAnnotations,
    read_manifest,
    write_benchmark,
)
from tasks.benchmarks.evidence import ExportedAnnotations
from tasks.benchmarks.licences import without_unlicensed
from tasks.benchmarks.manifest import write_manifest
from tasks.inputs.formats.export import read_benchmark
from tests.fakes.benchmarks import CODES, QUERIES, agents_benchmark, people_benchmark

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
    monkeypatch.setattr("tasks.benchmarks.writer._ANNOTATIONS", 4)
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


FILE = "specifications.parquet"


def specification(query: int, recipe: str = "r1", **fields: object) -> QuerySpecification:
    clarity = fields.get("clarity", "clear")
    row = {
        "query_id": QUERIES[query].query_id,
        "recipe_id": recipe,
        "model": "m",
        "reading": "as it says",
        "demands": ("one", "another"),
        "examples": ("'http://me:word@host/' => 'me'",),
        "clarity": clarity,
        "is_underspecified": clarity == "underspecified",
    }
    return QuerySpecification.model_validate({**row, **fields})


ALL = tuple(
    sorted(
        (
            specification(0),
            specification(0, "r2", clarity="underspecified"),
            specification(1, clarity="underspecified"),
            specification(2, cannot_show="network", examples=()),
        ),
        key=lambda item: (item.query_id, item.recipe_id),
    )
)


def specified(specifications: tuple[QuerySpecification, ...] = ALL) -> Benchmark:
    update = {"specifications": specifications}
    return agents_benchmark().model_copy(update=update)


def test_specifications_are_counted_by_query_and_read_back(tmp_path: Path) -> None:
    manifest = write_benchmark(specified(), tmp_path / "b")
    assert FILE in {file.path for file in manifest.files}
    assert manifest.counts["queries_specified"] == 3
    assert manifest.counts["queries_underspecified"] == 2
    assert manifest.counts["queries_without_value"] == 1
    assert tuple(read_benchmark(tmp_path / "b").specifications) == ALL
    marked = pq.read_table(tmp_path / "b" / FILE, filters=[("is_underspecified", "=", True)])
    assert marked.num_rows == 2
    assert "2 of the queries are underspecified" in (tmp_path / "b" / "README.md").read_text()


def test_an_export_without_specifications_is_what_it_was(tmp_path: Path) -> None:
    manifest = write_benchmark(specified(()), tmp_path / "b")
    assert not (tmp_path / "b" / FILE).exists()
    assert not {name for name in manifest.counts if "specified" in name}
    assert len(read_benchmark(tmp_path / "b").specifications) == 0
    assert "specif" not in (tmp_path / "b" / "README.md").read_text()


@pytest.mark.parametrize("damage", ["lost", "changed"])
def test_specifications_that_were_lost_or_changed_are_refused(tmp_path: Path, damage: str) -> None:
    write_benchmark(specified(), tmp_path / "b")
    file = tmp_path / "b" / FILE
    if damage == "lost":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(PublishError, match=FILE):
        read_benchmark(tmp_path / "b")


def test_a_query_that_is_left_out_takes_its_specification_with_it() -> None:
    codes = tuple(
        code.model_copy(update={"licence": "unknown" if code == CODES[2] else "MIT"})
        for code in CODES
    )
    left = without_unlicensed(specified().model_copy(update={"codes": codes}))
    assert QUERIES[0].query_id not in {item.query_id for item in left.queries}
    assert tuple(left.specifications) == tuple(
        item for item in ALL if item.query_id != QUERIES[0].query_id
    )
