"""What Prefect, Ray, the queue and the store add to the agents' own time, on one machine.

    python -m tests.bench.bench_orchestration [--pairs 2000] [--in-flight 16] [--rounds 3]

A model that takes 0.1 s a call judges the same pairs in two ways, in turns: the same committee in a
bare asyncio loop, in as many processes as the flow has judges and with as many pairs in flight, and
the product's own flow, with a Prefect server, judges on Ray, the queue and the store. Boxes are
stubs in both. A third of the pairs is unclear: three calls one after the other, else one.

The flow's seconds go from its start to its last commit. "Start" is what of it has passed before the
model's first request: tasks are submitted, workers start and import; it is paid once a run, however
long that is, and less where a worker's process is used again. The share outside the agents is what
of the flow's time goes beyond the bare loop's.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import ray
from rich.console import Console
from rich.table import Table

from flows.runtime.prefect_server import prefect_api
from infra.settings import StoreSettings
from infra.store import open_database
from tests.agents.judging import script
from tests.bench import partly_real
from tests.bench.bench_annotate import annotate_made_up, check, fill, start_ray
from tests.bench.bench_committee import Share, process, said_by

LATENCY_S = 0.1
_PLACES_A_JUDGE = 16  # as in `tasks.stages.annotate.gather`


class Round(NamedTuple):
    """Seconds of one round.

    Attributes:
        bare: Of the bare loop.
        flow: Of the flow.
        start: Of the flow before the model's first request.
    """

    bare: float
    flow: float
    start: float

    @property
    def outside(self) -> float:
        """The share of the flow's time outside the agents."""
        return 1 - self.bare / self.flow

    @property
    def outside_after_start(self) -> float:
        """The same without the start."""
        return 1 - self.bare / (self.flow - self.start)


@contextmanager
def model_server(folder: Path, number: int) -> Iterator[tuple[str, Path]]:
    """Yield the address of a model with that latency, and the file of its requests."""
    rules, calls = folder / "script.json", folder / "calls.jsonl"
    rules.write_text(json.dumps(list(script(number, LATENCY_S))), "utf-8")
    calls.touch()
    command = [sys.executable, "-m", "tests.fakes.llm_server"]
    command += ["--script", str(rules), "--log", str(calls)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        try:
            yield said_by(started), calls
        finally:
            started.kill()


def bare(folder: Path, base_url: str, number: int, in_flight: int, processes: int) -> float:
    """Return the seconds of the bare loops."""
    shares = [
        Share(base_url, str(folder), number, first, processes, in_flight // processes, 0)
        for first in range(processes)
    ]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(process("--work", json.dumps(asdict(share)))) for share in shares
        ]
        return max(float(json.loads(said_by(worker))["seconds"]) for worker in workers)


def flow(
    folder: Path, base_url: str, number: int, in_flight: int, calls: Path
) -> tuple[float, float]:
    """Return the seconds of the flow, and of its start."""
    database = open_database(StoreSettings(folder=folder / "store"))
    fill(database, number)
    size, began = calls.stat().st_size, time.perf_counter()
    first: list[float] = []

    def look() -> None:
        while calls.stat().st_size == size:
            time.sleep(0.005)
        first.append(time.perf_counter() - began)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    seconds = annotate_made_up(str(folder), base_url, in_flight, number)
    looking.join()
    check(database, number)
    return seconds, first[0]


def measured(number: int, in_flight: int, rounds: int) -> list[Round]:
    """Return the seconds of all rounds."""
    cores = len(os.sched_getaffinity(0))
    judges = min(-(-min(in_flight, number) // _PLACES_A_JUDGE), cores)
    partly_real.register()
    found = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["PREFECT_HOME"] = str(folder / "prefect")
        base_url, calls = stack.enter_context(model_server(folder, number))
        stack.enter_context(prefect_api())
        start_ray()
        for place in range(rounds):
            alone, whole = folder / f"bare-{place}", folder / f"flow-{place}"
            taken = bare(alone, base_url, number, in_flight, judges)
            found.append(Round(taken, *flow(whole, base_url, number, in_flight, calls)))
        ray.shutdown()
    return found


def print_rounds(found: list[Round]) -> None:
    """Print seconds and shares of each round, and the medians."""
    table = Table()
    columns: dict[str, Callable[[Round], str]] = {
        "bare loop, s": lambda one: f"{one.bare:.2f}",
        "flow, s": lambda one: f"{one.flow:.2f}",
        "of it start, s": lambda one: f"{one.start:.2f}",
        "outside the agents": lambda one: f"{one.outside:.1%}",
        "the same after the start": lambda one: f"{one.outside_after_start:.1%}",
    }
    for name in ("round", *columns):
        table.add_column(name, justify="right")
    for number, one in enumerate(found, start=1):
        table.add_row(str(number), *(text(one) for text in columns.values()))
    median = Round(*(statistics.median(values) for values in zip(*found, strict=True)))
    table.add_row("median", *(text(median) for text in columns.values()))
    Console().print(table)


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--in-flight", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = measured(options.pairs, options.in_flight, options.rounds)
    print(f"{options.pairs} pairs, {LATENCY_S} s a call, {options.in_flight} in flight")
    print_rounds(found)


if __name__ == "__main__":
    main()
