"""The law of a full disk: annotation ends with a clear error, loses nothing and goes on later.

Covers `tasks.stages.annotate.writer`.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.errors import DiskFullError
from infra.identity import RecipeId
from infra.records import Annotation
from infra.settings import StoreSettings
from infra.store import annotations, open_database
from tasks.stages.annotate.writer import store_annotations
from tests.fakes.small_disk import small_disk
from tests.tasks.stages.annotate.test_writer import annotation, call

BATCH = 50


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    yield from small_disk(tmp_path / "disk", megabytes=4)


def test_a_full_disk_is_one_error_and_what_was_stored_and_what_waits_are_both_there_afterwards(
    disk: Path,
) -> None:
    database = open_database(StoreSettings(folder=disk))
    added: list[Annotation] = []

    def add_for_ever() -> None:
        while True:
            noise = os.urandom(4_000 * BATCH).hex()
            names = range(len(added), len(added) + BATCH)
            batch = [annotation(str(n), calls=call(reply=noise[n % BATCH :: BATCH])) for n in names]
            added.extend(batch)
            store_annotations(database, batch)

    with pytest.raises(DiskFullError, match=r"disk of .* is full .* run the same command again"):
        add_for_ever()
    assert len(added) > BATCH
    stored = annotations.finished_pairs(database, RecipeId("r"))
    assert stored == {item.key for item in added[:-BATCH]}
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
    store_annotations(database, added[-BATCH:])
    keys = [item.key for item in added]
    assert annotations.load_annotations(database, RecipeId("r"), keys) == added
