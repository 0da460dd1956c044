"""Laws of the places for boxes: so many over all processes, none lost with a killed one."""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from infra.errors import SandboxError
from sandbox.machine_slots import MachineSlots

HOLDER = """
import sys, tempfile, time
tempfile.tempdir = sys.argv[1]
from sandbox.machine_slots import MachineSlots
slots = [MachineSlots("some", 2).try_acquire() for _ in range(3)]
print(sum(slot is not None for slot in slots), flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_all_processes_share_the_places_and_those_of_a_killed_one_are_free(folder: Path) -> None:
    words = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "2\n"
        assert MachineSlots("some", 2).try_acquire() is None
        assert MachineSlots("others", 2).try_acquire() is not None
        assert MachineSlots("some", 3).try_acquire() is not None, (
            "a larger number has one more place"
        )
        holder.kill()
    taken = [MachineSlots("some", 2).try_acquire() for _ in range(3)]
    assert [slot is not None for slot in taken] == [True, True, False]


async def test_whoever_waits_gets_the_next_place_in_turn() -> None:
    slots = MachineSlots("some", 1)
    first = await slots.acquire()
    order: list[int] = []

    async def wait(number: int) -> None:
        slot = await slots.acquire()
        order.append(number)
        slot.release()

    waiting = [asyncio.create_task(wait(number)) for number in range(3)]
    await asyncio.sleep(0.05)
    assert order == []
    first.release()
    first.release()  # changes nothing
    await asyncio.gather(*waiting)
    assert order == [0, 1, 2]


def test_a_folder_that_cannot_be_used_is_named(folder: Path) -> None:
    (folder / "file").write_text("")
    tempfile.tempdir = str(folder / "file")
    with pytest.raises(SandboxError, match=r"cannot be locked .*TMPDIR"):
        MachineSlots("some", 1).try_acquire()
