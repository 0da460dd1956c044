"""A small world for whole runs: functions, queries, a scripted model, and the command line."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from infra.settings import Settings, StoreSettings
from infra.store import Database, open_database
from tests.fakes.llm_server import KEY
from tests.fakes.stores import read_vectors
from tests.flows.command_process import CommandProcess
from tests.prefect_api import lay_database
from tests.processes import still_running

COSQA = str(Path(sys.executable).with_name("cosqa"))
_TIMEOUT_S = 1_800


@dataclass(frozen=True)
class Case:
    """A query, its only candidate, and the scripted replies of the agents."""

    query: str
    code: str
    rules: tuple[dict[str, Any], ...]


def additions(number: int) -> list[Case]:
    """Return so many queries for functions that add a number, each with its function."""
    return [
        Case(f"python add {n}", f"def plus_{n}(value):\n    return value + {n}", ())
        for n in range(number)
    ]


def rule(role: str, *steps: dict[str, Any]) -> dict[str, Any]:
    """Return a rule of the scripted model for one agent."""
    return {"role": role, "steps": list(steps)}


def screened(verdict: str) -> dict[str, Any]:
    """Return the screener's rule."""
    return rule("screener", {"reply": {"reason": "as scripted", "verdict": verdict}})


def written(program: str) -> dict[str, Any]:
    """Return the writer's rule."""
    return rule("writer", {"reply": {"reading": "as scripted", "program": program}})


def commanded(commands: str) -> dict[str, Any]:
    """Return the rule of the fixer, which sees no query."""
    reply = {"diagnosis": "as scripted", "verdict": "repairable", "commands": commands}
    return rule("command_fixer", {"reply": reply}) | {"query": "*"}


def read(verdict: str) -> dict[str, Any]:
    """Return the rule of the single model that reads."""
    return rule(
        "exact_judge", {"reply": {"asked": "as scripted", "deviations": "none", "verdict": verdict}}
    )


YES = read("answers") | {"query": "*"}  # of every pair


def judged(verdict: str) -> dict[str, Any]:
    """Return the arbiter's rule."""
    return rule("arbiter", {"reply": {"reason": "as scripted", "verdict": verdict}})


class Finished(NamedTuple):
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str


@cache
def commands() -> CommandProcess:
    """Return the process that runs this session's commands; `tests/flows/conftest.py` ends it."""
    return CommandProcess()


@dataclass
class World:
    """A folder with a source, a store and an output folder, and a way to run commands on them."""

    folder: Path
    env: dict[str, str]
    origin: Path | None = None  # folder of the world whose source it reads, where not its own
    _started: list[psutil.Process] = field(default_factory=list)

    @property
    def source(self) -> Path:
        """Where queries.jsonl and codes.jsonl are."""
        return (self.origin or self.folder) / "source"

    @property
    def store(self) -> Path:
        """The store's folder."""
        return self.folder / "store"

    @property
    def output(self) -> Path:
        """The folder of benchmarks and report."""
        return self.folder / "out"

    def copy(self, folder: Path, model_url: str) -> "World":
        """Return a world with a copy of the store, the same source and another model."""
        shutil.copytree(self.store, folder / "store")
        return World(folder, self.env | {"COSQA_LLM__BASE_URL": model_url}, origin=self.folder)

    def database(self) -> Database:
        """Open the store."""
        return open_database(StoreSettings(folder=self.store, lock_timeout_s=60))

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """Return the rows of a SQL query on the store."""
        with self.database().transaction() as tx:
            return tx.rows(sql)

    def write(self, cases: Sequence[Case], labels: bool = True) -> None:
        """Write the source's files."""
        self.source.mkdir(parents=True, exist_ok=True)
        (self.source / "LICENSE").write_text("MIT License\n")  # else nothing is exported
        named = [(f"n{number}", case) for number, case in enumerate(cases)]
        self._lines("queries", [{"id": name, "query": case.query} for name, case in named])
        self._lines("codes", [{"id": name, "code": case.code} for name, case in named])
        if labels:
            self._lines(
                "labels", [{"query": name, "code": name, "relevance": 1} for name, _ in named]
            )

    def _lines(self, name: str, rows: Sequence[dict[str, object]]) -> None:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.source / f"{name}.jsonl").write_text(text, encoding="utf-8")

    def command(self, name: str, *options: str) -> list[str]:
        """Return a command over this world."""
        output = () if name in ("collect", "annotate") else ("--output", str(self.output))
        return [
            COSQA, name, "--source", "jsonl", "--path", str(self.source), "--top-k", "1",
            "--store", str(self.store), *output, *options,
        ]  # fmt: skip

    def run(self, name: str, *options: str) -> Finished:
        """Run a command over the source to its end, in the process that all commands share."""
        return self.finish(self.command(name, *options))

    def run_on_folder(self, name: str, *options: str) -> Finished:
        """Run a command that takes benchmarks as folders to its end."""
        return self.finish(self.command_on_folder(name, *options))

    def command_on_folder(self, name: str, *options: str) -> list[str]:
        """Return a command that takes benchmarks as folders."""
        return [COSQA, name, "--store", str(self.store), "--output", str(self.output), *options]

    def finish(self, command: Sequence[str]) -> Finished:
        """Run a command line to its end, in the process that all commands share."""
        return Finished(*commands().run(command, self.env, self.folder))

    def run_alone(self, name: str, *options: str) -> Finished:
        """Run a command over the source to its end, in a process of its own as a user does."""
        return self.finish_alone(self.command(name, *options))

    def finish_alone(self, command: Sequence[str]) -> Finished:
        """Run a command line to its end in a process of its own."""
        done = subprocess.run(
            command, env=self.env, cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
        return Finished(done.returncode, done.stdout)

    def kill_when(self, name: str, is_reached: Callable[[], bool]) -> None:
        """Start a command over the source and end it by SIGKILL once ``is_reached``."""
        self.kill_command_when(self.command(name), is_reached)

    def kill_command_when(self, command: Sequence[str], is_reached: Callable[[], bool]) -> None:
        """Start a command line in a process of its own, to be ended once ``is_reached``."""
        log = self.folder / "killed.log"
        with (
            log.open("w") as out,
            subprocess.Popen(
                command, env=self.env, cwd=self.folder, stdout=out, stderr=out
            ) as process,
        ):
            try:
                deadline = time.monotonic() + _TIMEOUT_S
                while not is_reached():
                    assert process.poll() is None, log.read_text()
                    assert time.monotonic() < deadline, f"not reached: {log.read_text()}"
                    time.sleep(0.05)
                self._started += psutil.Process(process.pid).children(recursive=True)
            finally:
                process.kill()

    def all_have_ended(self) -> bool:
        """Return whether all children of killed commands end; Ray's agents take a minute."""
        return not still_running(self._started, 240)


def stored_items(database: Database) -> list[tuple[str, str, str]]:
    """Return (key of the encoder, kind, id) of each vector in the files that the store knows."""
    with database.transaction() as tx:
        files = tx.rows("SELECT encoder_key, kind, file FROM vector_files")
    return [
        (str(key), str(kind), item)
        for key, kind, file in files
        for item in read_vectors(database.settings.vectors / str(file))[0]
    ]


def settings_in(folder: Path, *methods: str, **sections: object) -> Settings:
    """Return settings of a store and an output folder below a folder, and of other sections."""
    folders = {"store": {"folder": folder / "store"}, "publish": {"folder": folder / "out"}}
    return Settings.model_validate(
        {**folders, "evaluation": {"methods": methods, "depth": 30}, **sections}
    )


def bare_world(folder: Path) -> "World":
    """Return a world in which nothing is set, as that of a user's first command."""
    named = ("COSQA_", "PREFECT_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(named)}
    home = {"PREFECT_HOME": str(folder / "prefect"), "NO_COLOR": "1", "COLUMNS": "200"}
    return World(folder, clean | home)


def reading_world(folder: Path, base_url: str, server: str = "", **more: str) -> World:
    """Return a world in which a single model reads, with a Prefect server or a home for its own."""
    own = {"PREFECT_API_URL": server} if server else {"PREFECT_HOME": str(folder / "prefect")}
    single = {"COSQA_ANNOTATION__CONFIGURATION": "single"}
    env = environment(base_url, **{**single, **own, **more})
    if not server:
        env.pop("PREFECT_API_URL", None)
    return World(folder, env)


def environment(base_url: str, **more: str) -> dict[str, str]:
    """Return the environment of a command that talks to the scripted model."""
    if home := more.get("PREFECT_HOME"):
        lay_database(Path(home))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COSQA_")}
    return clean | {
        "COSQA_LLM__MODEL": "openai/scripted",
        "COSQA_LLM__BASE_URL": base_url,
        "COSQA_LLM__API_KEY": KEY,
        "COSQA_LLM__MAX_RETRIES": "1",
        "COSQA_ANNOTATION__CONFIGURATION": "paper",
        "COSQA_ANNOTATION__MAX_TRY_TIME": "2",
        "COSQA_ANNOTATION__GOLD_QUESTIONS": "0",
        "COSQA_EVALUATION__DEPTH": "10",
        "COSQA_RAY__CPUS": "2",
        "NO_COLOR": "1",
        "COLUMNS": "200",
        **more,
    }
