"""Laws of upgrades: a store of each earlier version opens, nothing is lost, kills do no harm.

The stores in ``versions`` were made by the last release of each version: a run over six pairs, with
rows added to tables that it left empty; those of versions 9 and 10 are the one of version 8 as
their releases upgraded it. Covers `infra.store.migrations`,
`infra.store.layout`, `infra.store.connections`.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from infra.errors import DiskFullError, StoreError
from infra.ids import RecipeId
from infra.records import Annotation, code_id_of, query_id_of
from infra.settings import StoreSettings
from infra.store import annotations, open_database, vectors
from infra.store.layout import layout_of, layout_of_schema
from infra.store.migrations import SCHEMA_VERSION
from infra.store.upgrades import kept_copies, upgrade
from tests.fakes.small_disk import small_disk
from tests.fakes.stores import Rows, rows_of, store_of

EARLIER = range(1, SCHEMA_VERSION)

KILLED = """
import os, signal, sys
from pathlib import Path
from infra.settings import StoreSettings
from infra.store.upgrades import upgrade
steps = []
def report(step):
    steps.append(step)
    if len(steps) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
upgrade(StoreSettings(folder=Path(sys.argv[1])), report)
"""


def same_columns(file: Path, earlier: Rows) -> Rows:
    """Return the rows of a file in the columns that an earlier one has."""
    found: Rows = {}
    with closing(duckdb.connect(str(file))) as connection:
        for table, (columns, _) in earlier.items():
            listed = ", ".join(columns)
            rows = connection.execute(f"SELECT {listed} FROM {table} ORDER BY ALL").fetchall()
            found[table] = (columns, rows)
    return found


def with_full_ids(rows: Rows) -> Rows:
    """Return the rows of a store whose ids had 20 digits with those that their texts have now.

    Scores are of a benchmark, whose files keep their ids.
    """
    full = {
        former: str(id_of(text))
        for table, id_of in (("queries", query_id_of), ("codes", code_id_of))
        for former, text in rows[table][1]
    }
    return {
        table: (columns, [tuple(_full(value, full) for value in row) for row in values])
        for table, (columns, values) in rows.items()
        if table != "scores"
    } | {"scores": rows["scores"]}


def _full(value: object, full: dict[str, str]) -> object:
    return full.get(value, value) if isinstance(value, str) else value


def without(rows: Rows, table: str, column: str) -> list[Any]:
    """Remove a column from a table's rows where it is there; return its values."""
    columns, values = rows[table]
    if column not in columns:
        return []
    place = columns.index(column)
    rows[table] = (
        [name for name in columns if name != column],
        [(*row[:place], *row[place + 1 :]) for row in values],
    )
    return [row[place] for row in values]


def stored(settings: StoreSettings) -> Iterator[Annotation]:
    """Yield all annotations of a store, as the program reads them."""
    database = open_database(settings)
    with database.transaction() as tx:
        keys = tx.rows("SELECT query_id, code_id, recipe_id FROM annotations ORDER BY path")
    for query, code, recipe in keys:
        yield from annotations.load_annotations(
            database, RecipeId(str(recipe)), [annotations._pair_key(query, code)]
        )


@pytest.mark.parametrize("version", EARLIER)
def test_a_store_of_each_earlier_version_keeps_every_row_and_gets_the_layout_of_a_new_one(
    version: int, tmp_path: Path
) -> None:
    settings = store_of(version, tmp_path)
    before = rows_of(settings.database)
    database = open_database(settings)
    vectors_before = before.pop("vectors", ([], []))[1]
    before["meta"] = (["store_id"], [(database.store_id,)])
    used_before = without(before, "recipes", "used_at")
    before = with_full_ids(before)
    assert same_columns(settings.database, before) == before
    with database.transaction() as tx:
        assert list(layout_of_schema().differences(layout_of(tx.connection))) == []
    [copy] = kept_copies(settings)
    assert f"-v{version}-" in copy.name
    assert rows_of(copy) == rows_of(store_of(version, tmp_path / "again").database)
    [(used_on, used, used_at)] = rows_of(settings.database)["recipe_uses"][1]
    assert (used_on, used) == ("jsonl", [row[0] for row in before["recipes"][1]])
    if used_before:
        assert used_before == [used_at - timedelta(microseconds=1)]
    if vectors_before:
        key = str(vectors_before[0][0])
        assert [items for _, items, _ in vectors.files_of(database, key, "code")] == [6]
    assert open_database(settings) == database
    assert kept_copies(settings) == [copy], "what is up to date is not copied"


@pytest.mark.parametrize("version", [1, SCHEMA_VERSION - 1])
def test_annotations_of_earlier_versions_say_what_they_rest_on(
    version: int, tmp_path: Path
) -> None:
    settings = store_of(version, tmp_path)
    found = {item.path: item for item in stored(settings)}
    assert {path: (item.status, item.label) for path, item in found.items()} == {
        "clear_match": ("labelled", 1),
        "clear_non_match": ("labelled", 0),
        "unclear_passed": ("labelled", 1),
        "unclear_failed_assertion": ("labelled", 0),
        "unreadable_reply": ("undecided", None),
        "model_unavailable": ("failed", None),
    }
    assert found["clear_match"].support == "screened"
    assert found["model_unavailable"].support == "undecided"
    if version == 1:  # it had no gates
        assert found["unclear_passed"].support == "ungated"
        judged = [item for item in found.values() if item.status == "labelled"]
        assert {(item.judgements, item.agreeing) for item in judged} == {(1, 1)}
    with open_database(settings).transaction() as tx:
        met = {str(path): met for path, met in tx.rows("SELECT path, met FROM annotations")}
    assert met == {path: item.met for path, item in found.items()}
    assert met["clear_match"] == "screener"
    assert met["unclear_passed"] == "arbiter,box,screener,writer"


def killed_at(settings: StoreSettings, step: int) -> bool:
    """Upgrade in a process that is killed before a step; return whether it was."""
    command = [sys.executable, "-c", KILLED, str(settings.folder), str(step)]
    ended = subprocess.run(command, capture_output=True, check=False)
    return ended.returncode == -signal.SIGKILL


def check_whole(settings: StoreSettings, version: int, before: bytes) -> None:
    """Check that a killed upgrade has changed nothing, and that the next one ends it."""
    assert settings.database.read_bytes() == before
    open_database(settings)
    [copy] = kept_copies(settings)
    assert copy.read_bytes() == before
    assert {path.name for path in settings.folder.iterdir()} == {
        settings.database.name, copy.name, "open.lock",
    }  # fmt: skip


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(1, id="before the copy"),
        pytest.param(4, id="between steps", marks=pytest.mark.exhaustive),
        pytest.param(13, id="before it takes the place"),
    ],
)
def test_an_upgrade_that_is_killed_leaves_the_store_as_it_was(step: int, tmp_path: Path) -> None:
    settings = store_of(1, tmp_path / "store")
    with closing(duckdb.connect(str(settings.database))) as connection:
        connection.execute("CHECKPOINT")
    before = settings.database.read_bytes()
    assert killed_at(settings, step)
    check_whole(settings, 1, before)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("delay_ms", range(0, 240, 30))
def test_an_upgrade_that_is_killed_at_any_moment_leaves_one_of_both_versions(
    delay_ms: int, tmp_path: Path
) -> None:
    settings = store_of(7, tmp_path / "store")
    with closing(duckdb.connect(str(settings.database))) as connection:
        connection.execute(
            "INSERT INTO llm_calls SELECT query_id || n, code_id, recipe_id, ordinal, role, "
            "attempt, model, prompt_digest, status, reply || n, error, prompt_tokens, "
            "completion_tokens, cost_usd, seconds, cached FROM llm_calls, range(4_000) AS t(n)"
        )
    calls = rows_of(settings.database)["llm_calls"]
    after = with_full_ids(rows_of(settings.database))["llm_calls"]
    command = [sys.executable, "-c", KILLED, str(settings.folder), "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        while not (settings.folder / ".cosqa.duckdb.new").exists() and process.poll() is None:
            time.sleep(0.001)
        time.sleep(delay_ms / 1000)
        process.send_signal(signal.SIGKILL)
    open_database(settings)
    found = same_columns(settings.database, {"llm_calls": calls})["llm_calls"]
    assert (found[0], set(found[1])) == (after[0], set(after[1]))
    assert all(rows_of(copy)["llm_calls"] == calls for copy in kept_copies(settings))


def test_two_processes_that_open_an_older_store_at_once_upgrade_it_once(tmp_path: Path) -> None:
    settings = store_of(8, tmp_path / "store")
    before = with_full_ids(rows_of(settings.database))["annotations"]
    command = [sys.executable, "-c", KILLED, str(settings.folder), "0"]
    both = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(600) for process in both] == [0, 0]
    assert len(kept_copies(settings)) == 1
    found = same_columns(settings.database, {"annotations": before})
    assert found == {"annotations": before}


def test_so_many_copies_are_kept_as_the_settings_say(tmp_path: Path) -> None:
    for _ in range(3):
        settings = store_of(8, tmp_path / "store")
        open_database(settings)
        settings.database.unlink()
    copies = kept_copies(settings)
    assert len(copies) == settings.upgrade_copies == 2
    assert copies == sorted(copies)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted by root only")
def test_an_upgrade_without_room_for_its_copy_is_refused_and_changes_nothing(
    tmp_path: Path,
) -> None:
    for disk in small_disk(tmp_path / "disk", 64):
        settings = store_of(8, disk / "store")
        (disk / "other").write_bytes(bytes(shutil.disk_usage(disk).free - 2**20))
        before = settings.database.read_bytes()
        with pytest.raises(DiskFullError, match=r"nothing was changed.*--store"):
            open_database(settings)
        assert settings.database.read_bytes() == before
        (disk / "other").unlink()
        assert upgrade(settings).version == SCHEMA_VERSION


def test_a_store_whose_lock_cannot_be_opened_is_an_error_that_says_what_to_do(
    tmp_path: Path,
) -> None:
    (tmp_path / "open.lock").mkdir()
    with pytest.raises(StoreError, match=r"writable.*--store"):
        open_database(StoreSettings(folder=tmp_path))


def test_a_store_that_is_a_link_to_a_file_elsewhere_stays_one(tmp_path: Path) -> None:
    settings = store_of(8, tmp_path / "store")
    elsewhere = tmp_path / "elsewhere" / "big.duckdb"
    elsewhere.parent.mkdir()
    settings.database.rename(elsewhere)
    settings.database.symlink_to(elsewhere)
    open_database(settings)
    assert settings.database.is_symlink()
    assert len(kept_copies(settings)) == 1
