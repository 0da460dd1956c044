"""How near the annotate stage comes to the time that the model's latency alone would take.

    python -m tests.bench.bench_annotate [--pairs 20000] [--in-flight 256] [--real 400]

It goes through the product's own flow: a Prefect server, shards on Ray, the store, boxes
for ``--real`` pairs and stubs for the others, and a model server with a second of latency. A third
of the pairs is unclear: three calls one after the other, and an execution. The rivals are ideals:

- all places taken at all times, calls x latency / places;
- the same latencies in the same order, where at the end one place after the other stands empty;
- the real executions alone, in the same sandbox.

Seconds begin with the flow and end with the last commit: the start of Ray's workers and their
imports are part of them. CPU is that of the flow, Prefect's server and all of Ray; the model server
and the Docker engine have their own. Memory is looked at when a quarter, a half, three quarters and
the whole of the time have passed.
"""

import argparse
import asyncio
import os
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import psutil
import ray
from prefect import flow
from pydantic import SecretStr

from flows.annotate import judge_candidates
from flows.runtime.prefect_server import prefect_api
from infra.records import Code, Pair
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    RaySettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from infra.store import Database, open_database
from tasks.stages.annotate.plan import AnnotationRun, current_recipe
from tests.agents.judging import pairs
from tests.bench import judging
from tests.bench.bench_committee import cpu_of, execute, process
from tests.bench.bench_committee import said_by as said_by_process
from tests.bench.judging import CALLS, calls_of, fill, print_ideals, search_of
from tests.fakes.llm_server import KEY


class Moment(NamedTuple):
    """What was seen at a moment: seconds, memory of the flow and of the largest worker, in MB."""

    at: float
    flow_mb: float
    worker_mb: float


class Watch(threading.Thread):
    """Looks at memory and CPU of this process and of all that it has started."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.moments: list[Moment] = []
        self.cpu_s: dict[int, float] = {}
        self._end = threading.Event()
        self._began = time.monotonic()

    def run(self) -> None:
        """Look once a second."""
        while not self._end.wait(1):
            self.look()

    def look(self) -> None:
        """Look once."""
        own, largest = psutil.Process(), 0.0
        for one in (own, *own.children(recursive=True)):
            try:
                times, memory = one.cpu_times(), one.memory_info().rss / 2**20
                self.cpu_s[one.pid] = times.user + times.system
                if one.name().startswith("ray::"):
                    largest = max(largest, memory)
            except psutil.Error:
                continue
        memory = own.memory_info().rss / 2**20
        self.moments.append(Moment(time.monotonic() - self._began, memory, largest))

    def end(self) -> None:
        """Look no more."""
        self._end.set()
        self.join()
        self.look()


def _named(pair: Pair) -> Pair:
    """Return a pair whose code has the name and module of a source's."""
    return pair.model_copy(update={"code": Code.of(pair.code.text, name="plus", module="m")})


def settings_of(folder: Path, base_url: str, in_flight: int) -> Settings:
    """Return the settings of the run."""
    return Settings(
        store=StoreSettings(folder=folder / "store"),
        llm=LanguageModelSettings(
            model="openai/scripted", base_url=base_url, api_key=SecretStr(KEY)
        ),
        annotation=AnnotationSettings(configuration="paper", in_flight=in_flight, gold_questions=0),
        sandbox=SandboxSettings(backend=judging.NAME),
        ray=RaySettings(),
    )


@flow(name="bench-annotate")
def annotate_made_up(folder: str, base_url: str, in_flight: int, number: int) -> float:
    """Annotate a made-up collection; return the seconds from the first task to the last commit."""
    settings = settings_of(Path(folder), base_url, in_flight)
    search = search_of(number, number)
    recipe = current_recipe(settings.committee)
    started = time.perf_counter()
    judge_candidates(AnnotationRun.of(search, recipe, settings))
    return time.perf_counter() - started


def start_ray() -> None:
    """Start Ray with workers that know the backend of this benchmark."""
    hook = f"{judging.__name__}.{judging.register.__name__}"
    found = {"PYTHONPATH": str(Path(__file__).parents[2])}
    environment = {"worker_process_setup_hook": hook, "env_vars": found}
    ray.init(address="local", include_dashboard=False, log_to_driver=False, runtime_env=environment)


def check(database: Database, number: int) -> int:
    """Return the number of executions in real boxes; end the program where a pair has no label."""
    with database.transaction() as tx:
        labelled = tx.count("SELECT count(*) FROM annotations WHERE status = 'labelled'")
        if labelled != number:
            raise SystemExit(f"{labelled} of {number} pairs have a label: nothing is measured")
        return tx.count("SELECT count(*) FROM executions WHERE seconds > 0")


def bench(number: int, in_flight: int, real: int) -> None:
    """Run the flow and print its figures beside the ideals."""
    alone = asyncio.run(execute(real)) if real else 0.0
    unclear = -(-number // len(CALLS))
    os.environ[judging.REAL] = str(len(CALLS) * max(1, unclear // real) if real else 0)
    judging.register()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        os.environ["PREFECT_HOME"] = str(Path(folder) / "prefect")
        server = stack.enter_context(process("--serve", str(number)))
        base_url = said_by_process(server)
        database = open_database(StoreSettings(folder=Path(folder) / "store"))
        fill(database, [_named(pair) for pair in pairs(number)])
        stack.enter_context(prefect_api())
        start_ray()
        watch, server_cpu = Watch(), cpu_of(server)
        watch.look()
        before = dict(watch.cpu_s)
        watch.start()
        taken = annotate_made_up(folder, base_url, in_flight, number)
        watch.end()
        executed = check(database, number)
        print(f"{number} pairs, {calls_of(number)} calls, {in_flight} in flight", end=", ")
        print(f"{psutil.cpu_count()} cores")
        print_ideals(number, in_flight, taken, {f"{executed} executions alone": alone})
        cpu = sum(used - before.get(pid, 0.0) for pid, used in watch.cpu_s.items())
        print_costs(number, cpu, cpu_of(server) - server_cpu, watch.moments)
        ray.shutdown()


def print_costs(number: int, cpu_s: float, server_s: float, moments: list[Moment]) -> None:
    """Print CPU and memory."""
    calls = calls_of(number)
    print(
        f"CPU of flow, Prefect and Ray: {1000 * cpu_s / number:.1f} s per 1,000 pairs, "
        f"{1000 * cpu_s / calls:.1f} ms a call; model server {1000 * server_s / calls:.1f} ms"
    )
    for share in (0.25, 0.5, 0.75, 1.0):
        at = moments[-1].at * share
        moment = next(one for one in moments if one.at >= at)
        print(
            f"after {share:4.0%} of the time: flow {moment.flow_mb:.0f} MB, "
            f"largest worker {moment.worker_mb:.0f} MB"
        )


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--in-flight", type=int, default=256)
    parser.add_argument("--real", type=int, default=0, help="unclear pairs with real boxes")
    options = parser.parse_args()
    bench(options.pairs, options.in_flight, options.real)


if __name__ == "__main__":
    main()
