"""A source is read again exactly when that may give something else.

Covers `tasks.stages.collect` and `infra.store.corpus`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from prefect.logging import disable_run_logger

from infra.collected import Content, StoredCollection
from infra.settings import SourceSettings
from infra.store import Database, corpus
from tasks.runtime.caching import is_done
from tasks.sources import open_source
from tasks.sources.jsonl import JsonLinesSource
from tasks.stages.collect import collect_source

Change = Callable[[Path, pytest.MonkeyPatch], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "input"
    folder.mkdir()
    JsonLinesSource.write_example(folder)
    return folder


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with each reading of the source."""
    found: list[str] = []
    read = JsonLinesSource.read

    def counted(self: JsonLinesSource) -> Mapping[str, Content]:
        found.append("read")
        return read(self)

    monkeypatch.setattr(JsonLinesSource, "read", counted)
    return found


def collect(database: Database, folder: Path, **options: object) -> StoredCollection:
    given = {"name": "jsonl", "path": folder, **options}
    source = SourceSettings.model_validate(given)
    fingerprint = open_source(source).fingerprint()
    inputs = {"database": database, "source": source, "fingerprint": fingerprint}
    if not is_done(collect_source, **inputs):
        with disable_run_logger():
            collect_source.fn(database, source, fingerprint)
    (collection,) = corpus.collections_of(database, fingerprint)
    return collection


def test_a_source_is_found_wherever_it_lies_and_however_that_is_named(
    folder: Path, database: Database, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    first = collect(database, Path("input"))
    assert collect(database, folder.absolute()) == first
    folder.rename(folder.with_name("moved"))
    assert collect(database, Path("moved")) == first
    assert len(reads) == 1


def rewrite(folder: Path, _: pytest.MonkeyPatch) -> None:
    file = folder / "codes.jsonl"
    file.write_bytes(file.read_bytes().replace(b"x + x", b"x * x * 1"))


def edit_a_filter(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.stages.collect.program_digest", lambda *_: "other program text")


@pytest.mark.parametrize("change", [rewrite, edit_a_filter], ids=lambda c: c.__name__)
def test_a_source_is_read_again_when_that_may_give_something_else(
    database: Database,
    folder: Path,
    reads: list[str],
    change: Change,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = collect(database, folder)
    assert collect(database, folder) == first
    assert len(reads) == 1, "nothing has changed"
    change(folder, monkeypatch)
    second = collect(database, folder)
    assert len(reads) == 2
    assert second.codes == first.codes == 2
    with database.transaction() as tx:
        texts = tx.rows("SELECT text FROM collection_codes JOIN codes USING (code_id)")
    assert any("x + x" in str(text) for (text,) in texts) is (change is edit_a_filter)
    assert collect(database, folder) == second
    assert len(reads) == 2


def test_a_source_is_read_again_when_asked_for(
    database: Database, folder: Path, reads: list[str]
) -> None:
    first = collect(database, folder)
    assert collect(database, folder, reread=True) == first
    assert len(reads) == 2
    collect(database, folder)
    assert len(reads) == 2, "to have asked is no other setting"


def test_labels_that_contradict_each_other_are_told_at_the_end_and_change_no_digest(
    database: Database, folder: Path
) -> None:
    with (folder / "labels.jsonl").open("a") as file:
        file.write('{"query": "q1", "code": "c1", "relevance": 0}\n')
    stored = collect(database, folder)
    source = SourceSettings.model_validate({"name": "jsonl", "path": folder})
    with disable_run_logger():
        (read,) = collect_source.fn(database, source, stored.fingerprint)
    assert f"{folder}/labels.jsonl:2 (0, where 1 is given)" in read.notes[0]
    assert read.model_dump() == stored.model_dump()
