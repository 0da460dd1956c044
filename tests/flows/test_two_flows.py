"""The law of two commands at once: each has a private Prefect server over the same database."""

import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.flows.cases import CASES
from tests.flows.world import World, environment

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

_TIMEOUT_S = 900


def test_two_commands_that_start_together_over_different_stores_both_complete(
    folder: Path,
) -> None:
    home = folder / "prefect"  # new: both make its database, too
    env = environment("", PREFECT_HOME=str(home), COSQA_RAY__CPUS="1")
    env = {name: value for name, value in env.items() if name != "PREFECT_API_URL"}
    worlds = [World(folder / name, env) for name in ("one", "other")]
    running = []
    for world in worlds:
        world.write(list(CASES.values()))
        with (world.folder / "command.log").open("w") as log:
            command = world.command("collect")
            running.append(
                subprocess.Popen(command, env=env, cwd=world.folder, stdout=log, stderr=log)
            )
    for world, process in zip(worlds, running, strict=True):
        status = process.wait(_TIMEOUT_S)
        assert status == 0, (world.folder / "command.log").read_text()
        assert world.rows("SELECT count(*) FROM candidates") == [(len(CASES),)]
    with sqlite3.connect(home / "prefect.db") as database:
        states = database.execute("SELECT state_type FROM flow_run").fetchall()
    assert len(states) >= len(worlds)
    assert set(states) == {("COMPLETED",)}
