"""What all seeds share: source, collected store, Prefect's server, an undisturbed run's rows."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.settings import SandboxSettings
from tests.chaos.laws import Reference, labels_as_scripted, reference_of
from tests.chaos.pairs import CODES, Pairs, write_source
from tests.chaos.running_system import Run, RunningSystem
from tests.chaos.services import Disk, model_server, prefect_server
from tests.flows.world import World, environment
from tests.ports import free_port
from tests.sandbox.own_engine import OwnEngine, own_engine, whats_missing

IN_FLIGHT = 32
_DELAY_S = 0.05
_DISK_MB = 400
_ENGINE_MB = 2_500


class Harness:
    """What seeds are run against, one after the other.

    Args:
        folder: An empty folder.
        pairs: How many pairs, rounded down to a multiple of `CODES`.
        engine: A Docker engine of its own, if there is one.
        prefect_url: Another's Prefect server, which cannot be broken, in place of one of its own.
    """

    def __init__(
        self, folder: Path, pairs: int, engine: OwnEngine | None = None, prefect_url: str = ""
    ) -> None:
        self.pairs = Pairs(pairs)
        self.engine = engine
        self._folder = folder
        self._model_port, prefect_port = free_port(), free_port()
        own_engine = {"DOCKER_HOST": engine.address} if engine else {}
        self._env = environment(
            f"http://127.0.0.1:{self._model_port}/v1",
            PREFECT_API_URL=prefect_url or f"http://127.0.0.1:{prefect_port}/api",
            COSQA_ANNOTATION__IN_FLIGHT=str(IN_FLIGHT),
            COSQA_LLM__REQUESTS_PER_MINUTE="60000",
            COSQA_LLM__MAX_BACKOFF_S="2",
            COSQA_REANNOTATION__RETRY_AFTER_S="0",
            **own_engine,
        )
        self.prefect = prefect_server(folder / "prefect", prefect_port, self._env)
        self._has_prefect = not prefect_url
        self._script = folder / "script.json"
        self._base = World(folder / "base", self._env)
        self.reference: Reference | None = None

    def prepare(self) -> None:
        """Start Prefect's server, and collect."""
        self._script.write_text(json.dumps(self.pairs.script(_DELAY_S)), "utf-8")
        write_source(self._base, self.pairs)
        if self._has_prefect:
            self.prefect.start()
        collected = self._base.finish_alone(self._command("collect", self._base))
        assert collected.returncode == 0, collected.stdout

    def run_undisturbed(self) -> None:
        """Annotate without any break, and again with nothing left to do, for what that leaves."""
        with self.system() as (world, system):
            for _ in range(2):
                run = system.start()
                assert run.wait() == 0, run.printed()
            faults = labels_as_scripted(world, self.pairs.expected())
            assert not faults, faults
            self.reference = reference_of(world)

    def close(self) -> None:
        """End Prefect's server."""
        self.prefect.kill()

    @contextmanager
    def system(self) -> Iterator[tuple[World, RunningSystem]]:
        """Yield a copy of the collected store with a model of its own; nothing is left of it."""
        folder = self._folder / "system"
        folder.mkdir()
        world = World(folder, self._env)
        disk = Disk(world.store, _DISK_MB)
        disk.mount()
        shutil.copytree(self._base.store, world.store, dirs_exist_ok=True)
        calls = folder / "calls.jsonl"
        model = model_server(self._script, calls, self._model_port, self._env)

        def start_run(log: str) -> Run:
            command = self._command("annotate", world)
            return Run(command, self._env, folder, folder / f"{log}.log")

        system = RunningSystem(start_run, model, calls, self.prefect, disk, self.engine)
        try:
            model.start()
            yield world, system
        finally:
            system.end()
            model.kill()
            disk.close()
            shutil.rmtree(folder)

    def containers(self) -> list[str]:
        """Return the containers, networks of boxes and volumes on the engine of its own."""
        if self.engine is None:
            return []
        kinds = (
            ("ps", "--all", "--quiet"),
            ("volume", "ls", "--quiet"),
            ("network", "ls", "--quiet", "--filter", "type=custom"),
        )
        return [name for words in kinds for name in self.engine.docker(*words).stdout.split()]

    def _command(self, name: str, world: World) -> list[str]:
        command = world.command(name, "--top-k", str(CODES))
        command[command.index("--path") + 1] = str(self._base.source)
        return command


@contextmanager
def harness_of(pairs: int, engine: OwnEngine | None) -> Iterator[Harness]:
    """Yield a harness in which the source is collected; for its arguments see `Harness`."""
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(Path(folder), pairs, engine)
        try:
            say(f"collecting {harness.pairs.number:,} pairs")
            harness.prepare()
            yield harness
        finally:
            harness.close()


@contextmanager
def own_engine_if_possible(*, wanted: bool = True) -> Iterator[OwnEngine | None]:
    """Yield an engine to be killed, or None where there can be none, which is said."""
    if missing := whats_missing() if wanted else "not asked for":
        say(f"no Docker engine of its own ({missing}): the machine's is used, and not killed")
        yield None
        return
    say("starting a Docker engine of its own, and loading the image")
    with (
        tempfile.TemporaryDirectory() as folder,
        own_engine(Path(folder), SandboxSettings().image, _ENGINE_MB) as engine,
    ):
        yield engine


def say(words: str) -> None:
    """Print at once."""
    print(words, flush=True)
