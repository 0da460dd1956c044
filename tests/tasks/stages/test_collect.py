"""A source is read again exactly when that may give something else.

Covers `tasks.stages.collect` and `infra.store.corpus`.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from prefect.logging import disable_run_logger

from infra.collected import Streamed
from infra.settings import SourceSettings, StoreSettings
from infra.store import Database, corpus, open_database
from infra.store.corpus import StoredCollection
from tasks.sources import open_source
from tasks.sources.jsonl import JsonLinesSource
from tasks.stages.collect import as_collected, collect_source

Change = Callable[[Path, pytest.MonkeyPatch], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "input"
    folder.mkdir()
    JsonLinesSource.write_example(folder)
    return folder


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(StoreSettings(folder=tmp_path / "store"))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with each reading of the source."""
    found: list[str] = []
    read = JsonLinesSource.read

    def counted(self: JsonLinesSource) -> dict[str, Streamed]:
        found.append("read")
        return read(self)

    monkeypatch.setattr(JsonLinesSource, "read", counted)
    return found


def collect(database: Database, folder: Path, **options: object) -> StoredCollection:
    given = {"name": "jsonl", "path": folder, **options}
    source = SourceSettings.model_validate(given)
    fingerprint = open_source(source).fingerprint()
    with disable_run_logger():
        (collection,) = collect_source.fn(database, source, fingerprint)
    return collection


def test_a_source_is_found_by_relative_and_absolute_paths_alike(
    folder: Path, database: Database, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    below, above = Path("input"), folder.absolute()
    for collected, asked in ((below, above), (above, below)):
        first = collect(database, collected, reread=True)
        source = SourceSettings.model_validate({"name": "jsonl", "path": str(asked)})
        found, fingerprint = as_collected(database, source)
        assert (found.options["path"], fingerprint) == (str(collected), first.fingerprint)
        with disable_run_logger():
            collect_source.fn(database, found, fingerprint)
    assert reads == ["read"] * 2, "only as --reread asked for"


def test_paths_of_queries_and_codes_are_found_alike_too(
    folder: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    given = {"name": "jsonl", "queries": "jsonl=input", "codes": ["jsonl=input"]}
    source = SourceSettings.model_validate(given)
    assert as_collected(database, source)[0] == source, "as it is asked for, while it is unknown"
    fingerprint = open_source(source).fingerprint()
    with disable_run_logger():
        collect_source.fn(database, source, fingerprint)
    asked = source.model_copy(update={"codes": (f"jsonl={folder}",)})
    assert open_source(asked).fingerprint() != fingerprint
    assert as_collected(database, asked)[1] == fingerprint


def rewrite_unseen(folder: Path, _: pytest.MonkeyPatch) -> None:
    """Change a file in place, its size and its time of modification staying."""
    file = folder / "codes.jsonl"
    before = file.stat()
    file.write_bytes(file.read_bytes().replace(b"x + x", b"x * x"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_unseen(folder: Path, _: pytest.MonkeyPatch) -> None:
    """Put another file in the place of one, as a copy that keeps times does."""
    file, other = folder / "codes.jsonl", folder / "other"
    other.write_bytes(file.read_bytes().replace(b"x + x", b"x * x"))
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    other.replace(file)


def edit_a_filter(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.corpus.stamps._program", lambda: "other program text")


def lose_a_text(folder: Path, _: pytest.MonkeyPatch) -> None:
    with open_database(StoreSettings(folder=folder.parent / "store")).transaction() as tx:
        tx.execute("DELETE FROM codes WHERE text LIKE '%x + x%'")


@pytest.mark.parametrize(
    "change", [rewrite_unseen, replace_unseen, edit_a_filter, lose_a_text], ids=lambda c: c.__name__
)
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
    assert (second.fingerprint, second.codes) == (first.fingerprint, 2)
    with database.transaction() as tx:
        texts = tx.rows("SELECT text FROM collection_codes JOIN codes USING (code_id)")
    same = change in (edit_a_filter, lose_a_text)
    assert any("x + x" in str(text) for (text,) in texts) is same
    assert (second.content == first.content) is same
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


def test_what_is_stored_without_a_stamp_is_read_again(
    database: Database, folder: Path, reads: list[str]
) -> None:
    first = collect(database, folder)
    with database.transaction() as tx:
        tx.execute("DELETE FROM collection_inputs")
    assert collect(database, folder) == first
    assert len(reads) == 2
    collect(database, folder)
    assert len(reads) == 2, "its stamp is known from then on"


def test_the_digest_of_a_content_is_that_of_its_items(database: Database, folder: Path) -> None:
    found = []
    for number in range(2):
        source = open_source(SourceSettings.model_validate({"name": "jsonl", "path": folder}))
        corpus.replace_collections(database, f"f{number}", source.read(), "jsonl")
        found += [each.content for each in corpus.collections_of(database, f"f{number}")]
    assert found[0] == found[1] != ""
