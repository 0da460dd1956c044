"""What the default run costs: `cosqa benchmark --top-k 5`, the product as it is, run twice.

    python -m tests.bench.bench_run [OPTIONS OF cosqa benchmark]

It runs in a temporary folder with this shell's environment, and prints the seconds of each stage
as the store has them, the seconds of both commands, and the most memory that the command's
processes held at once (Ray's and Prefect's included, Docker's boxes not): the sum of their
proportional set sizes, in which shared pages count once.
"""

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from infra.settings import StoreSettings
from infra.store import open_database

COSQA = str(Path(sys.executable).with_name("cosqa"))
SECONDS_BETWEEN_SAMPLES = 1.0


@dataclass(frozen=True)
class Cost:
    """What a command took."""

    seconds: float
    peak_bytes: int
    printed: str


def run(options: Sequence[str], folder: Path) -> Cost:
    """Run `cosqa benchmark` in a folder to its end, measuring it."""
    log, started, peak = folder / "printed.log", time.monotonic(), 0
    with log.open("w") as out:
        process = psutil.Popen(
            [COSQA, "benchmark", *options], cwd=folder, stdout=out, stderr=subprocess.STDOUT
        )
        while process.poll() is None:
            peak = max(peak, _memory_of(process))
            with contextlib.suppress(psutil.TimeoutExpired):
                process.wait(SECONDS_BETWEEN_SAMPLES)
    seconds = time.monotonic() - started
    printed = log.read_text()
    if process.returncode:
        raise SystemExit(printed)
    return Cost(seconds, peak, printed)


def _memory_of(process: psutil.Process) -> int:
    """Return the proportional set sizes of a process and of all below it."""
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        for each in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                total += each.memory_full_info().pss
    return total


def stages(store: Path) -> list[tuple[object, ...]]:
    """Return (stage, collection, items, seconds) of all work that a store has seen, in order."""
    with open_database(StoreSettings(folder=store)).transaction() as tx:
        return tx.rows(
            "SELECT stage, collection, items, seconds FROM stage_runs ORDER BY ended_at, stage"
        )


def main() -> None:
    """Measure and print."""
    options = sys.argv[1:] or ["--top-k", "5"]
    if {"-h", "--help"} & set(options):
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options += ["--store", str(folder / "store"), "--output", str(folder / "out")]
        first, second = run(options, folder), run(options, folder)
        done = stages(folder / "store")
    print("through the product as it is: each command in a process of its own, twice")
    table = Table(title="stages of the first run", title_justify="left")
    for column in ("stage", "collection", "items", "seconds"):
        table.add_column(column, justify="left" if column in ("stage", "collection") else "right")
    for stage, collection, items, seconds in done:
        table.add_row(str(stage), str(collection), f"{items:,}", f"{seconds:.1f}")
    Console().print(table)
    for which, cost in (("first", first), ("second", second)):
        print(f"{which} run: {cost.seconds:,.0f} s, {cost.peak_bytes / 1e9:.2f} GB at most")
    print(f"nothing was left to the second: {'Nothing was left to do' in second.printed}")


if __name__ == "__main__":
    main()
