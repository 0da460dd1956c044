"""Laws of locks on files."""

import subprocess
import sys
from pathlib import Path

import pytest

from infra.locks import locked

HOLD = """
import sys
from pathlib import Path
from infra.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    input()
"""


def test_a_lock_is_one_process_s_until_that_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "x.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError), locked(file, wait=False):
            pass
        other.kill()
        with locked(file):
            pass
    with locked(file, wait=False), pytest.raises(BlockingIOError), locked(file, wait=False):
        pass


def test_a_shared_lock_has_several_holders_and_keeps_a_lone_one_out(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    with (
        locked(file, shared=True),
        locked(file, wait=False, shared=True),
        pytest.raises(BlockingIOError),
        locked(file, wait=False),
    ):
        pass
    with (
        locked(file, wait=False),
        pytest.raises(BlockingIOError),
        locked(file, wait=False, shared=True),
    ):
        pass
