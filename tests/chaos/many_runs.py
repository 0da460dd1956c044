"""Many runs in a row on one store: what is more at the end than at the beginning?

    python -m tests.chaos.many_runs [--runs 200] [--commands]

Runs are those of the deployment `annotate`, by the worker of `cosqa server`, or commands. Each
judges the candidates of one query more, as a nightly run does. Printed are, after some of the runs,
what grows with what was done (memory of server and worker, sizes of their database and of the
store), and what must not grow: processes of the runs, threads and open files of server and worker,
files in the temporary folder, in the store and among Prefect's results, containers. It ends with
status 1 where each of the last runs left more of one of these than any of the first (8 threads and
files more are allowed to the server, whose pools fill up with time).
"""

import argparse
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from tests.chaos.harness import Harness, harness_of, own_engine_if_possible, say
from tests.chaos.laws import files_of
from tests.chaos.running_system import RunningSystem
from tests.chaos.services import children_of
from tests.flows.world import World

GROWS = ("server_mb", "server_database_mb", "store_mb", "seconds")
SOME = 5  # of the first and of the last runs, which are compared
_POOLED = {"server_threads": 8, "server_files": 8}  # pools of the server fill up with time
_SETTLES_S = 90.0  # Ray's agents look for their head once a minute
_SHOWN = (1, 2, 5, 10, 25, 50, 100, 150, 200)
_WORKER = {"PREFECT_WORKER_QUERY_SECONDS": "2"}  # it looks for runs every 10 s otherwise


@dataclass(frozen=True)
class Sample:
    """What there is after a run."""

    seconds: float
    server_mb: float
    server_database_mb: float
    store_mb: float
    processes: int
    server_threads: int
    server_files: int
    temporary_files: int
    store_files: int
    results: int
    containers: int


def sample(
    harness: Harness, world: World, system: RunningSystem, temporary: Path, seconds: float
) -> Sample:
    """Return what there is, once the run's processes have had time to end."""
    left = system.processes_left(_SETTLES_S)
    server = [psutil.Process(harness.prefect.pid), *children_of(harness.prefect.pid)]
    home = harness.prefect_home
    return Sample(
        seconds=seconds,
        server_mb=_sum(server, lambda one: one.memory_full_info().pss) / 1e6,
        server_database_mb=_megabytes(home, "prefect.db*"),
        store_mb=_megabytes(world.store, "**/*"),
        processes=len(left),
        server_threads=_sum(server, psutil.Process.num_threads),
        server_files=_sum(server, psutil.Process.num_fds),
        temporary_files=_entries(temporary),
        store_files=len(files_of(world.store)),
        results=_entries(home / "storage"),
        containers=len(harness.containers()),
    )


def _entries(folder: Path) -> int:
    """Return how much is in a folder; what goes meanwhile counts nothing, as `os.walk` skips it."""
    return sum(len(folders) + len(files) for _, folders, files in os.walk(folder))


def _sum(processes: Iterable[psutil.Process], measure: Callable[[psutil.Process], int]) -> int:
    """Return the sum over processes; one that ends meanwhile counts nothing."""
    total = 0
    for one in processes:
        with suppress(psutil.NoSuchProcess):
            total += measure(one)
    return total


def many_runs(harness: Harness, runs: int, temporary: Path) -> dict[int, Sample]:
    """Return samples after the first and the last of so many runs and some between, by number.

    Args:
        harness: Where they run.
        runs: How many.
        temporary: Their folder for temporary files.

    Raises:
        SystemExit: A run failed.
    """
    sampled = {*range(1, SOME + 1), *_SHOWN, *range(runs - SOME + 1, runs + 1)}
    samples: dict[int, Sample] = {}
    with harness.system() as (world, system):
        for number in range(1, runs + 1):
            queries = 1 + (number - 1) % harness.pairs.queries
            started = time.monotonic()
            run = system.start("--limit", str(queries))
            if run.wait() != 0:
                raise SystemExit(f"run {number} failed: {run.printed()}")
            taken = time.monotonic() - started
            if number in sampled:
                samples[number] = sample(harness, world, system, temporary, taken)
                say(f"run {number}: {asdict(samples[number])}")
            system.runs.clear()
    return samples


def growth(samples: list[Sample]) -> list[str]:
    """Return in words what must not grow and is more after each last run than after each first."""
    some = min(SOME, len(samples) // 2)
    first, last = map(asdict, samples[:some]), map(asdict, samples[-some:])
    most = {name: max(values) for name, values in _by_name(first).items()}
    least = {name: min(values) for name, values in _by_name(last).items()}
    return [
        f"{name} {most[name]} → {least[name]}"
        for name in most
        if name not in GROWS and least[name] > most[name] + _POOLED.get(name, 0)
    ]


def _by_name(samples: Iterable[Mapping[str, float]]) -> dict[str, list[float]]:
    values = defaultdict(list)
    for one in samples:
        for name, value in one.items():
            values[name].append(value)
    return values


def print_curve(samples: Mapping[int, Sample]) -> None:
    """Print a row for each kind, a column for some of the runs."""
    shown = [number for number in samples if number in _SHOWN]
    table = Table(title=f"{max(samples)} runs in a row on one store", title_justify="left")
    table.add_column("after run")
    for number in shown:
        table.add_column(str(number), justify="right")
    for name in asdict(samples[1]):
        values = [getattr(samples[number], name) for number in shown]
        table.add_row(
            name.replace("_", " "), *(f"{value:,.1f}".removesuffix(".0") for value in values)
        )
    Console().print(table)


def _megabytes(folder: Path, pattern: str) -> float:
    return sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file()) / 1e6


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=10_000, help="of which each run takes 50")
    parser.add_argument("--commands", action="store_true", help="commands, not a deployment")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(dir="/tmp", prefix="r-") as name,  # short: for sockets
        own_engine_if_possible() as engine,
        harness_of(
            options.pairs,
            engine,
            deployed=not options.commands,
            more={"TMPDIR": name, **_WORKER},
        ) as harness,
    ):
        samples = many_runs(harness, options.runs, Path(name))
    print_curve(samples)
    more = growth([*samples.values()])
    print(f"more at the end than at the beginning: {'; '.join(more) or 'nothing'}")
    sys.exit(bool(more))


if __name__ == "__main__":
    main()
