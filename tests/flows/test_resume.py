"""Laws of resumption: after a kill or a Ctrl-C in any stage, the same command goes on.

Covers `flows.cli.main`, `flows.runtime.prefect_server`, `tasks.runtime.progress`.
"""

import fcntl
import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
import termios
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import psutil
import pytest

from infra.settings.sections import USUAL_METRICS
from tasks.retrievers import retrievers
from tests.fakes.llm_server import ScriptedServer
from tests.flows.cases import CASES, script
from tests.flows.world import World, additions, environment, read, reading_world, rule, stored_items
from tests.processes import still_running

pytestmark = [pytest.mark.slow(200), pytest.mark.nightly]


SETTLED = {
    name: case
    for name, case in CASES.items()
    if name not in ("model_unavailable", "unreadable_reply")
}
KEYS = {
    "queries": "query_id",
    "codes": "code_id",
    "candidates": "search_id, query_id, code_id",
    "annotations": "recipe_id, query_id, code_id",
    "executions": "recipe_id, query_id, code_id, ordinal",
    "evaluations": "benchmark_id, method_key",
    "scores": "benchmark_id, method_key, metric, query_id",
}
BENCHMARKS, METHODS, METRICS = 2, len(retrievers.names()) + 1, len(USUAL_METRICS)


def holds(table: str, rows: int) -> Callable[[World], bool]:
    """Return a check whether a table of the store has that many rows."""
    sql = f"SELECT count(*) >= {rows} FROM {table}"
    return lambda world: world.rows(sql)[0][0] is True


EVERY_STAGE = {
    "collect": lambda world: (world.store / "cosqa.duckdb").exists(),
    "embed": holds("vector_files", 1),
    "find candidates": holds("searches", 1),
    "annotate": holds("annotations", 2),
    "publish": lambda world: any(world.output.glob("*")),
    "evaluate": holds("evaluations", 1),
}


def slowly(rule: dict[str, object]) -> dict[str, object]:
    steps = rule["steps"]
    assert isinstance(steps, list)
    return rule | {"steps": [step | {"delay_s": 0.4} for step in steps]}


def request_counts(model: ScriptedServer) -> Counter[tuple[str, str]]:
    return Counter((call["role"], json.dumps(call["messages"])) for call in model.calls)


@pytest.mark.docker
@pytest.mark.usefixtures("engine")
def test_a_killed_run_continues_without_losing_or_repeating_work(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer([slowly(rule) for rule in script(SETTLED)]) as model:
        more = {"COSQA_ENCODER__SHARD_SIZE": "2", "COSQA_ANNOTATION__IN_FLIGHT": "2"}
        env = environment(model.base_url, PREFECT_API_URL=prefect_server, **more)
        world = World(folder, env)
        world.write(list(SETTLED.values()))

        for name, is_reached in EVERY_STAGE.items():
            world.kill_when("benchmark", partial(is_reached, world))
            if name == "annotate":
                finished = world.rows("SELECT query_id, code_id, seconds FROM annotations")
        last = world.run("benchmark")
        assert last.returncode == 0, last.stdout
        calls = request_counts(model)

    assert set(finished) <= set(world.rows("SELECT query_id, code_id, seconds FROM annotations")), (
        "what was judged before the kill is not judged again"
    )
    repeated = sum(count - 1 for count in calls.values())
    assert repeated <= 2, "only requests in flight are sent twice"
    counts = {}
    for table, key in KEYS.items():
        ((total, distinct),) = world.rows(f"SELECT count(*), count(DISTINCT ({key})) FROM {table}")
        assert total == distinct, table
        counts[table] = total
    n = len(SETTLED)
    vectors = stored_items(world.database())
    assert len(vectors) == len(set(vectors)) == 2 * n
    assert counts == {
        "queries": n,
        "codes": n,
        "candidates": n,
        "annotations": n,
        "executions": 8,
        "evaluations": BENCHMARKS * METHODS,
        "scores": METHODS * METRICS * (n + 4),
    }
    assert sorted(path.name for path in world.output.iterdir()) == [
        "jsonl",
        "jsonl-agents",
        "report.html",
        "report.md",
    ]
    assert world.all_have_ended()


LIMIT_S = 15.0  # five on idle cores; a stop that waits for stages takes minutes
JUDGED, EMBEDDED_ON_RAY = 24, 240
ADDITIONS = additions(EMBEDDED_ON_RAY)
ON_RAY = ("to embed", "texts embedded")
(REPLY,) = read("answers")["steps"]
SLOWLY = rule("exact_judge", REPLY | {"delay_s": 1})


class Terminal:
    """A command in a terminal of its own, whose foreground it has.

    Args:
        command: The command line.
        world: Its environment and folder.
    """

    def __init__(self, command: list[str], world: World) -> None:
        self._screen, theirs = pty.openpty()
        self.shown = ""

        def take_terminal() -> None:
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            command, env=world.env, cwd=world.folder, stdin=theirs, stdout=theirs, stderr=theirs,
            preexec_fn=take_terminal,  # noqa: PLW1509 - Popen has no other way to it
        )  # fmt: skip
        os.close(theirs)

    def read(self, timeout_s: float = 0.1) -> None:
        """Read what there is to read."""
        while select.select([self._screen], [], [], timeout_s)[0]:
            try:
                self.shown += os.read(self._screen, 65_536).decode(errors="replace")
            except OSError:  # nobody writes there any more
                return

    def until(self, is_so: Callable[[str], object]) -> None:
        """Read until something is shown, or is so elsewhere."""
        deadline = time.monotonic() + 300
        while not is_so(self.shown):
            assert self.process.poll() is None, self.shown
            assert time.monotonic() < deadline, self.shown
            self.read()

    def press_ctrl_c(self) -> None:
        os.write(self._screen, b"\x03")

    def end(self) -> tuple[int, float]:
        """Return the exit status, and the seconds until then."""
        began = time.monotonic()
        while self.process.poll() is None:
            assert time.monotonic() - began < 600, self.shown
            self.read()
        self.read()
        return self.process.returncode, time.monotonic() - began

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._screen)


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer([SLOWLY]) as server:
        yield server


def stopped(world: World, command: str, by: str, is_reached: Callable[[str, int], object]) -> str:
    """Stop the command where it is reached; return what it has shown."""
    terminal = Terminal(world.command(command), world)
    try:
        terminal.until(lambda shown: is_reached(shown, terminal.process.pid))
        family = psutil.Process(terminal.process.pid).children(recursive=True)
        if by == "ctrl-c":
            terminal.press_ctrl_c()
        else:
            os.killpg(terminal.process.pid, signal.SIGTERM)
        status, seconds = terminal.end()
    finally:
        terminal.close()
    print(terminal.shown, f"\nended in {seconds:.1f} s")
    assert status == 130
    assert seconds < LIMIT_S
    assert still_running(family, 240) == []
    return terminal.shown


def assert_cancelled(home: Path) -> None:
    """The run is cancelled, and nothing in it runs or has crashed."""
    (file,) = home.glob("cosqa-*.db")
    with closing(sqlite3.connect(file)) as database:
        runs = database.execute(
            "SELECT state_type FROM flow_run WHERE parent_task_run_id IS NULL"
        ).fetchall()
        tasks = database.execute(
            "SELECT task_run.state_type, task_run.name FROM task_run JOIN flow_run "
            "ON flow_run.id = flow_run_id WHERE parent_task_run_id IS NULL"
        ).fetchall()
    assert runs == [("CANCELLED",)]
    assert {state for state, _ in tasks} <= {"COMPLETED", "CANCELLED"}, tasks


@pytest.mark.parametrize(
    ("moment", "ends"),
    [
        ("start", "ctrl-c"),
        ("items read from", "ctrl-c"),
        ("to embed", "ctrl-c"),
        ("to embed", "sigterm"),
        ("texts embedded", "ctrl-c"),
        ("judging", "ctrl-c"),
        ("judging", "sigterm"),
        ("is written: ", "ctrl-c"),
    ],
)
def test_a_stopped_command_ends_in_seconds_and_goes_on_when_it_is_given_again(
    folder: Path, model: ScriptedServer, moment: str, ends: str
) -> None:
    more = {"COSQA_ANNOTATION__IN_FLIGHT": "4", "PREFECT_LOGGING_LEVEL": "INFO"}
    world = reading_world(folder, model.base_url, **more)
    command, added = (
        ("collect", ADDITIONS) if moment in ON_RAY else ("benchmark", ADDITIONS[:JUDGED])
    )
    world.write(added)

    def is_reached(shown: str, command: int) -> object:
        if moment == "start":
            return psutil.Process(command).children()
        return model.calls if moment == "judging" else moment in shown

    shown = stopped(world, command, ends, is_reached)
    if moment != "start":
        assert_cancelled(folder / "prefect")
    assert "stopped: what is finished is kept; the same command goes on" in shown
    assert "Traceback" not in shown
    model.follow([rule("exact_judge", REPLY)])
    again = world.run_alone(command)
    assert again.returncode == 0, again.stdout[-5000:]
    if moment == "judging":
        assert len(model.calls) == len(added), (
            "what was on the wire is kept: nothing is asked twice"
        )
    if command == "benchmark":
        judged = world.rows("SELECT status, count(*) FROM annotations GROUP BY 1")
        assert judged == [("labelled", len(added))]
