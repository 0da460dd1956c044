"""Laws of rows on their way into a table, and of the memory that many of them take."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from infra.collected import Item, Streamed
from infra.errors import SourceError
from infra.records import Code, Query, SourceInfo
from infra.settings import StoreSettings
from infra.store import corpus, open_database
from infra.store.database import TempTable

INFO = SourceInfo(name="made", licence="MIT", revision="1", location="here")
_READ = """
import json, sys
from pathlib import Path
from infra.settings import SourceSettings, StoreSettings
from infra.store import corpus, open_database
from tasks.sources import open_source

folder = Path(sys.argv[1])
database = open_database(StoreSettings(folder=folder / "store"))
source = open_source(SourceSettings.model_validate(json.loads(sys.argv[2])))
print_ = source.fingerprint()
corpus.replace_collections(database, print_, source.read(), sys.argv[3])
peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
print(json.dumps([corpus.collections_of(database, print_)[0].codes, peak / 1024]))
"""


def read_apart(folder: Path, name: str, **options: object) -> tuple[int, float]:
    """Read a source into a new store in a process of its own; return codes and peak MB."""
    settings = json.dumps({"name": name, **options})
    words = [sys.executable, "-c", _READ, str(folder), settings, name]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    codes, peak = json.loads(done.stdout)
    return codes, peak


def lines(folder: Path, number: int) -> Path:
    (folder / "queries.jsonl").write_text('{"query": "find it"}\n')
    with (folder / "codes.jsonl").open("w") as file:
        for n in range(number):
            body = f"    # Each of the items is taken as it is, and {n} is added to it.\n" * 5
            code = f"def function_{n}(items):\n{body}    return [item + {n} for item in items]\n"
            file.write(json.dumps({"code": code, "id": f"c{n}"}) + "\n")
    return folder


def test_rows_come_back_in_their_order_and_leave_no_file(tmp_path: Path) -> None:
    rows = [{"number": n, "words": ["a"] * (n % 3)} for n in range(5_000)]
    with TempTable({"number": pa.int32(), "words": pa.list_(pa.string())}, tmp_path) as spool:
        for row in rows:
            spool.add(row)
        assert spool.rows == len(rows)
        assert list(tmp_path.iterdir()) == []
        assert spool.read().read_all().to_pylist() == rows
        assert spool.read().read_all().to_pylist() == rows


def broken() -> Iterator[Item]:
    yield Query.of("find it")
    yield from (Code.of(f"x = {n}") for n in range(3_000))
    raise SourceError("codes.jsonl:3001: broken")


def test_a_source_that_breaks_off_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path / "store"))
    before = sorted(path.name for path in (tmp_path / "store").iterdir())
    with pytest.raises(SourceError, match=r"codes\.jsonl:3001"):
        corpus.replace_collections(database, "p", {"c": Streamed(INFO, broken(), {})}, "c")
    assert corpus.collections_of(database, "p") == []
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == before
    with database.transaction() as tx:
        assert tx.count("SELECT count(*) FROM codes") == 0


def test_progress_counts_every_item(tmp_path: Path) -> None:
    database = open_database(StoreSettings(folder=tmp_path / "store"))
    items: list[Item] = [Query.of("find it"), *(Code.of(f"x = {n}") for n in range(5_000))]
    told: list[int] = []
    content = {"c": Streamed(INFO, items, {})}
    corpus.replace_collections(database, "p", content, "c", told.append)
    assert sum(told) == len(items)
    assert len(told) > 1


@pytest.mark.nightly
@pytest.mark.slow(50)
def test_200_000_lines_are_stored_in_under_400_mb(tmp_path: Path) -> None:
    codes, peak = read_apart(tmp_path, "jsonl", path=str(lines(tmp_path, 200_000)))
    print(f"{codes:,} functions, peak {peak:,.0f} MB")
    assert codes == 200_000
    assert peak < 400


def test_memory_hardly_grows_with_the_input(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "large").mkdir()
    few, least = read_apart(tmp_path / "small", "jsonl", path=str(lines(tmp_path / "small", 200)))
    many, peak = read_apart(tmp_path / "large", "jsonl", path=str(lines(tmp_path / "large", 4_000)))
    assert (few, many) == (200, 4_000)
    assert peak - least < 60
