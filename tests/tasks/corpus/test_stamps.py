"""Stamps differ whenever reading a source again may give something else."""

import os
import time
from pathlib import Path

import pytest

from infra.settings import SourceSettings
from tasks.corpus.stamps import stamp_of
from tasks.sources import open_source, sources
from tasks.sources.jsonl import JsonLinesSource


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    JsonLinesSource.write_example(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", sources.names())
def test_the_stamp_knows_every_file_and_every_setting(name: str, tmp_path: Path) -> None:
    given = {"name": name, **sources.get(name).write_example(tmp_path)}
    source = SourceSettings.model_validate(given)
    seen = {stamp_of(open_source(source), "settings"), stamp_of(open_source(source), "others")}
    assert stamp_of(open_source(source), "settings") in seen
    files = [file for file in sorted(tmp_path.rglob("*")) if file.is_file()]
    for number, file in enumerate(files, 3):
        before = file.stat()
        file.write_bytes(file.read_bytes())
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        seen.add(stamp_of(open_source(source), "settings"))
        assert len(seen) == number, file


def test_a_change_soon_after_the_stamp_has_another_time(folder: Path) -> None:
    source = open_source(SourceSettings.model_validate({"name": "jsonl", "path": folder}))
    file = folder / "codes.jsonl"
    for _ in range(20):
        file.write_bytes(file.read_bytes())
        stamp = stamp_of(source, "")
        file.write_bytes(file.read_bytes())
        assert stamp_of(source, "") != stamp


def test_a_clock_that_is_ahead_is_not_waited_for(folder: Path) -> None:
    source = open_source(SourceSettings.model_validate({"name": "jsonl", "path": folder}))
    early = time.time_ns() - 10**13
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.corpus.stamps.time.time_ns", lambda: early)
        patch.setattr("tasks.corpus.stamps.time.sleep", pytest.fail)
        stamp_of(source, "")
