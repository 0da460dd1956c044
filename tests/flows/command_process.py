"""A second process in which `cosqa` commands run one after another, so that Ray starts once."""

import contextlib
import multiprocessing
import os
import runpy
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

_TIMEOUT_S = 900  # tests that run beside it take its cores


class CommandProcess:
    """Runs commands in one other process, which is started with the first of them.

    It imports the product once and stays connected to the Ray runtime that its first command
    started, as a deployment's process does. What depends on a process of its own (a first start,
    an end by SIGKILL) is tested by `World.run_alone` and `World.kill_when`.

    Args:
        program: The folder that the product is imported from; None is that of the tests.
    """

    def __init__(self, program: Path | None = None) -> None:
        self._pool = ProcessPoolExecutor(
            1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_import_from,
            initargs=(program,),
        )
        self._prefect_server: str | None = None

    def run(self, command: Sequence[str], env: Mapping[str, str], folder: Path) -> tuple[int, str]:
        """Return a command's exit status and all that it printed.

        Args:
            command: A console script's path and its arguments.
            env: The whole environment of the command.
            folder: The working directory of the command.
        """
        # Prefect reads its settings once a process: another's server would get all later commands.
        server = env.get("PREFECT_API_URL", "")
        self._prefect_server = self._prefect_server or server
        assert server == self._prefect_server, f"{server}: such a command runs alone"
        log = folder / "command.log"
        done = self._pool.submit(_run_script, command, dict(env), folder, log)
        try:
            status = done.result(timeout=_TIMEOUT_S)
        except TimeoutError:
            raise AssertionError(f"not done in {_TIMEOUT_S} s: {log.read_text()}") from None
        return status, log.read_text(encoding="utf-8")

    def close(self) -> None:
        """End the process, and Ray with it."""
        self._pool.submit(_stop_ray)
        self._pool.shutdown()


def _import_from(program: Path | None) -> None:
    """Look for modules in a folder first."""
    if program:
        sys.path.insert(0, str(program))


def _run_script(command: Sequence[str], env: dict[str, str], folder: Path, log: Path) -> int:
    own = {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
    os.environ.clear()
    os.environ.update(env | own)  # what it set to reach its Ray runtime stays
    if engine := sys.modules.get("prefect.flow_engine"):  # as `prefect_server` does
        engine._send_heartbeats = contextlib.nullcontext  # type: ignore[attr-defined]
    with contextlib.chdir(folder), _output_to(log):
        sys.argv = list(command)
        try:
            runpy.run_path(command[0], run_name="__main__")
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # noqa: BLE001 - as the interpreter ends a script
            traceback.print_exc()
            return 1
    return 0


@contextlib.contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Send this process's output, also that of libraries in C, to a file."""
    kept = os.dup(1), os.dup(2)
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        for stream, own, number in ((sys.stdout, kept[0], 1), (sys.stderr, kept[1], 2)):
            stream.flush()
            os.dup2(own, number)
            os.close(own)


def _stop_ray() -> None:
    """Disconnect from Ray: a worker process of a pool ends without Python's exit handlers."""
    if ray := sys.modules.get("ray"):
        ray.shutdown()
