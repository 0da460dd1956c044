"""Laws of looking at processes: an ended one is gone, also before its parent has asked for it."""

import subprocess
import sys

import psutil

from tests.processes import still_running


def test_only_processes_that_run_are_still_running() -> None:
    with (
        subprocess.Popen([sys.executable, "-c", ""]) as ended,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as waiting,
    ):
        both = [psutil.Process(ended.pid), psutil.Process(waiting.pid)]
        assert still_running(both[:1], 60) == []
        assert still_running(both, 0.2) == both[1:]
        waiting.kill()
        assert still_running(both, 60) == []
