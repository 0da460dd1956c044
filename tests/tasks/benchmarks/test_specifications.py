"""Laws of specifications in exports: one table, counted, read back, and left out where useless."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from infra.errors import PublishError
from tasks.benchmarks import Benchmark, QuerySpecification, write_benchmark
from tasks.benchmarks.redistribution import without_unlicensed
from tasks.inputs.formats.export import read_benchmark
from tests.fakes.benchmarks import CODES, QUERIES, agents_benchmark

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
