"""Laws of a command's run: it is told as it is, also where signals, kills or a busy server end it.

Covers `flows.cli.app`, `flows.cli.main` and `stopping` too.
"""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.flows.world import environment
from tests.rows import first_rows

pytestmark = pytest.mark.slow(60)

# A command whose flow says that it has begun, does as its arguments say, and gives a number.
COMMAND = """
import sys, time, types
from flows.cli import main
from flows.runtime.command_run import flow_state

def app():
    from prefect import flow, task
    module = sys.modules["flows.waits"] = types.ModuleType("flows.waits")

    @task
    def step():
        print("begun", flush=True)
        time.sleep(float(sys.argv[1]))

    @flow
    def waits():
        step()
        return 5

    module.waits = waits
    if "twice" in sys.argv:
        from prefect.client.base import PrefectHttpxSyncClient
        once = PrefectHttpxSyncClient.send

        def send(self, request, **options):
            if "set_state" in str(request.url):
                once(self, request, **options)
            return once(self, request, **options)

        PrefectHttpxSyncClient.send = send
    print("result", flow_state("waits").result())

main.app = app
main.main()
"""
TOLD = "stopped: what is finished is kept; the same command goes on"


class Command:
    """A command in a home of Prefect, and what it prints."""

    def __init__(self, home: Path, *words: str) -> None:
        env = environment("", PREFECT_HOME=str(home), PREFECT_LOGGING_LEVEL="INFO")
        env.pop("PREFECT_API_URL", None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *words], env=env, cwd=home, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def begin(self) -> None:
        """Wait until its flow has begun."""
        assert self.process.stdout
        while (line := self.process.stdout.readline()) != "begun\n":
            assert line, self.process.wait()

    def end(self) -> tuple[int, str]:
        """Return its exit status, and what it has printed since it began."""
        assert self.process.stdout
        with self.process.stdout as output:
            return self.process.wait(), output.read()


def states(home: Path) -> list[tuple[str, str]]:
    """Return type and name of the states of all flow runs and of all task runs, the last first."""
    (file,) = home.glob("cosqa-*.db")
    with closing(sqlite3.connect(file)) as database:
        return [
            row
            for table in ("flow_run", "task_run")
            for row in database.execute(
                f"SELECT state_type, state_name FROM {table} ORDER BY created DESC"
            )
        ]


@pytest.mark.parametrize("number", first_rows(1, [signal.SIGINT, signal.SIGTERM]))
def test_a_signal_ends_a_command_as_cancelled_by_its_own_hand(
    tmp_path: Path, number: signal.Signals
) -> None:
    command = Command(tmp_path, "600")
    command.begin()
    command.process.send_signal(number)
    assert command.end() == (130, f"{TOLD}\n")
    assert states(tmp_path) == [("CANCELLED", "Cancelled"), ("CANCELLED", "Cancelled")]


@pytest.mark.exhaustive
def test_a_command_that_was_killed_does_not_stay_running(tmp_path: Path) -> None:
    command = Command(tmp_path, "600")
    command.begin()
    command.process.kill()
    command.end()
    again = Command(tmp_path, "0")
    again.begin()
    assert again.end() == (0, "result 5\n")
    crashed, cancelled = ("CRASHED", "Crashed"), ("CANCELLED", "Cancelled")
    completed = ("COMPLETED", "Completed")
    *found, last = [*states(tmp_path), cancelled][:4]
    assert found == [completed, crashed, completed]
    assert last == cancelled, "or a server was never told of the task"
    assert list((tmp_path / "cosqa-runs").iterdir()) == []


@pytest.mark.exhaustive
def test_a_result_does_not_depend_on_a_server_that_was_told_twice(tmp_path: Path) -> None:
    command = Command(tmp_path, "0", "twice")
    command.begin()
    assert command.end() == (0, "result 5\n")
    assert states(tmp_path)[0] == ("COMPLETED", "Completed")


def test_a_ctrl_c_of_the_first_moment_shows_no_traceback(tmp_path: Path) -> None:
    early = (
        "import signal, _thread; from flows.cli import main;"
        "signal.signal(signal.SIGALRM, lambda *_: _thread.interrupt_main());"
        "signal.setitimer(signal.ITIMER_REAL, 0.05); main.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", early], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, f"{TOLD}\n")
