"""The law of SIGKILL while texts are embedded: of the flow, an actor, a raylet.

Covers `tasks.runtime.embedder`, `tasks.runtime.vector_writer`.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from infra.settings import StoreSettings
from infra.store import open_database
from tests.fakes.embed_run import BATCH, CODES, SHARD, TEXTS
from tests.flows.world import stored_items
from tests.processes import still_running

pytestmark = [pytest.mark.slow(40), pytest.mark.nightly]
ACTORS = 2

IS_VICTIM: dict[str, Callable[[psutil.Process], bool]] = {
    "actor": lambda process: any("ray::Embedder" in word for word in process.cmdline()),
    "raylet": lambda process: process.name() == "raylet",
}


def is_(victim: str, process: psutil.Process) -> bool:
    """Return whether a process is the one to be killed; not one that has just ended."""
    with suppress(psutil.Error):
        return IS_VICTIM[victim](process)
    return False


def is_worker(process: psutil.Process) -> bool:
    """Return whether this is a process of Ray's that works, or waits for work."""
    try:
        title = " ".join(process.cmdline()[:1])
    except psutil.Error:  # it has just ended
        return False
    return title.startswith("ray::") and "Agent" not in title


@pytest.fixture(scope="module")
def started() -> Iterator[list[psutil.Process]]:
    """All processes of the runs that were disturbed; at the end none of them is left.

    Ray's agents look for a minute for the head of their cluster before they give up: each test
    waits for those that work alone.
    """
    processes: list[psutil.Process] = []
    yield processes
    assert still_running(processes, 240) == []


class Run:
    """The embed stage on a store in a folder, in a process of its own.

    Args:
        folder: The store's.
        server: Address of the Prefect server.
        seconds: How long a batch takes.
    """

    def __init__(self, folder: Path, server: str, seconds: float) -> None:
        self._folder = folder
        with (folder / "output.txt").open("a") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fakes.embed_run", str(folder)],
                env={**os.environ, "PREFECT_API_URL": server, "SLOW_LETTERS_S": str(seconds)},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._workers: list[psutil.Process] = []

    def kill(self, victim: str, after: int, started: list[psutil.Process]) -> int:
        """Kill a process once so many texts have been embedded; return how many had been.

        All processes of the run are added to those that were started.
        """
        while len(embedded(self._folder)) < after:
            assert self._process.poll() is None, self.output
            time.sleep(0.02)
        own = psutil.Process(self._process.pid)
        family = own.children(recursive=True)
        started += family
        self._workers = [process for process in family if is_worker(process)]
        process = own if victim == "flow" else next(one for one in family if is_(victim, one))
        computed = len(embedded(self._folder))
        process.kill()
        return computed

    def end(self) -> int:
        """Return the exit status, within minutes; nothing of the run embeds any more then."""
        status = self._process.wait(timeout=900)
        assert still_running(self._workers, 240) == []
        return status

    @property
    def output(self) -> str:
        return (self._folder / "output.txt").read_text()


def embedded(folder: Path) -> list[str]:
    """Return the texts that have been embedded, as often as they were."""
    log = folder / "embedded.txt"
    return log.read_text().splitlines() if log.exists() else []


def assert_complete(folder: Path) -> None:
    stored = stored_items(open_database(StoreSettings(folder=folder)))
    assert len(stored) == len(set(stored)) == TEXTS
    # What a killed process had half written is hidden.
    assert len(list((folder / "vectors").rglob("[!.]*.*"))) == CODES // SHARD + 1, "no part is left"


@pytest.mark.parametrize(
    ("victim", "after"),
    [
        ("flow", SHARD + BATCH),
        ("actor", CODES - SHARD),
        ("raylet", BATCH),
    ],
)
def test_a_kill_costs_at_most_a_batch_of_each_actor(
    tmp_path: Path, prefect_server: str, started: list[psutil.Process], victim: str, after: int
) -> None:
    run = Run(tmp_path, prefect_server, seconds=1.0)
    computed = run.kill(victim, after, started)
    if run.end():
        orphaned = len(embedded(tmp_path)) - computed  # by actors that did not know yet
        again = Run(tmp_path, prefect_server, seconds=0.1)
        assert again.end() == 0, again.output
    else:
        orphaned = 0
    assert_complete(tmp_path)
    assert len(embedded(tmp_path)) - orphaned <= TEXTS + ACTORS * BATCH
