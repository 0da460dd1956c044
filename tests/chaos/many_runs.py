"""Many runs in a row on one store: what is more at the end than after the first few?

    python -m tests.chaos.many_runs [--runs 200]

Each run judges the candidates of one query more, as a nightly run does. Printed are, after some of
the runs, what grows with what was done (memory of Prefect's server, sizes of its database and of
the store), and what must not grow: processes of the runs, threads and open files of Prefect's
server, files in the temporary folder, in the store and among Prefect's results, containers. It ends
with status 1 where one of these is more at the end than after the first runs.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from tests.chaos.laws import files_of
from tests.chaos.scene import Scene
from tests.chaos.services import children_of
from tests.chaos.theatre import Theatre, own_engine_if_possible, say, theatre_of
from tests.flows.world import World

GROWS = ("server_mb", "server_database_mb", "store_mb", "seconds")
FIRST = 5  # runs after which all is there that stays
_SETTLES_S = 90.0  # Ray's agents look for their head once a minute
_SHOWN = (1, 2, 5, 10, 25, 50, 100, 150, 200)


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


def sample(theatre: Theatre, world: World, scene: Scene, temporary: Path, seconds: float) -> Sample:
    """Return what there is, once the run's processes have had time to end."""
    left = scene.processes_left(_SETTLES_S)
    server = [psutil.Process(theatre.prefect.pid), *children_of(theatre.prefect.pid)]
    home = theatre.prefect_home
    return Sample(
        seconds=seconds,
        server_mb=sum(one.memory_full_info().pss for one in server) / 1e6,
        server_database_mb=_megabytes(home, "prefect.db*"),
        store_mb=_megabytes(world.store, "**/*"),
        processes=len(left),
        server_threads=sum(one.num_threads() for one in server),
        server_files=sum(one.num_fds() for one in server),
        temporary_files=sum(1 for _ in temporary.rglob("*")),
        store_files=len(files_of(world.store)),
        results=sum(1 for _ in (home / "storage").rglob("*")),
        containers=len(theatre.containers()),
    )


def many_runs(theatre: Theatre, runs: int) -> list[Sample]:
    """Return a sample after each of so many runs.

    Raises:
        SystemExit: A run failed.
    """
    samples: list[Sample] = []
    with (
        tempfile.TemporaryDirectory(dir="/tmp", prefix="runs-") as name,  # short: for sockets
        theatre.scene("many", {"TMPDIR": name}) as (world, scene),
    ):
        for number in range(1, runs + 1):
            queries = 1 + (number - 1) % theatre.pairs.queries
            started = time.monotonic()
            run = scene.start("--limit", str(queries))
            if run.wait() != 0:
                raise SystemExit(f"run {number} failed: {run.printed()}")
            taken = time.monotonic() - started
            samples.append(sample(theatre, world, scene, Path(name), taken))
            scene.runs.clear()
            if number in _SHOWN:
                say(f"run {number}: {asdict(samples[-1])}")
    return samples


def growth(samples: list[Sample]) -> list[str]:
    """Return in words what must not grow and is more at the end than after the first runs."""
    first, last = samples[: max(1, min(FIRST, len(samples) - 1))], asdict(samples[-1])
    most = {name: max(asdict(one)[name] for one in first) for name in last}
    return [
        f"{name} {most[name]} → {now}"
        for name, now in last.items()
        if name not in GROWS and now > most[name]
    ]


def print_curve(samples: list[Sample]) -> None:
    """Print a row for each kind, a column for some of the runs."""
    shown = [number for number in _SHOWN if number <= len(samples)]
    table = Table(title=f"{len(samples)} runs in a row on one store", title_justify="left")
    table.add_column("after run")
    for number in shown:
        table.add_column(str(number), justify="right")
    for name in asdict(samples[0]):
        values = [getattr(samples[number - 1], name) for number in shown]
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
    options = parser.parse_args()
    with own_engine_if_possible() as engine, theatre_of(options.pairs, engine) as theatre:
        samples = many_runs(theatre, options.runs)
    print_curve(samples)
    more = growth(samples)
    print(f"more at the end than after the first {FIRST} runs: {'; '.join(more) or 'nothing'}")
    sys.exit(bool(more))


if __name__ == "__main__":
    main()
