"""How near the committee alone comes to the time that a model's latency alone would take.

Without Prefect, Ray and store: `tests.bench.bench_annotate` measures the whole stage.

    python -m tests.bench.bench_committee [--pairs 5000] [--in-flight 256] [--real 200]
    python -m tests.bench.bench_committee --requests 2000

A third of the pairs is unclear: three calls one after the other, and an execution in a stub box or,
for ``--real`` of them, in the real sandbox. The rivals are ideals, of which the largest
bounds any run:

- all places taken at all times, calls x latency / places;
- the same latencies in the same order, where at the end one place after the other stands empty;
- the real executions alone.

Workers are processes, as on Ray; the time in which they import litellm is not counted. Engine and
containers are no part of the client's CPU.

``--requests`` measures the journal alone: requests a second, each looked for, reserved and
kept, by four workers of 64 at once, without any model: through the journal's owner, by two
of Ray's nodes that share no folder, and, as the rival, each with the journal open itself.
"""

import argparse
import asyncio
import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import ray
from ray.cluster_utils import Cluster

from agents import Ledger, journal_ledger
from agents.llm.reply import RawReply
from infra.budget import Budget
from infra.identity import digest_of
from infra.languages.python.scaffolding import scaffolded
from infra.records import Annotation, Pair
from infra.settings import LanguageModelSettings, SandboxSettings, StoreSettings
from sandbox.backends import make_sandbox
from sandbox.base import Sandbox
from tasks.stages.annotate.ledger_actor import LedgerHandle, RunBudget
from tests.agents.judging import PROGRAM, committee_for, made_up_sandbox, pairs, script
from tests.bench.judging import CALLS, LATENCY_S, PartlyReal, calls_of, print_ideals
from tests.fakes.llm_server import ScriptedServer

PLACES = 64  # of a worker that only pays
START_S = 10.0  # of such workers' processes
REPLY = '{"reason": "It reverses the text, as the query asks for.", "verdict": "clear_match"}'
MOMENTS = (0.25, 0.5, 0.75, 1.0)  # of a worker's pairs, at which it looks at its memory


@dataclass(frozen=True)
class Share:
    """What one worker has to do: every ``step``-th pair from its first on."""

    base_url: str
    folder: str
    pairs: int
    first: int
    step: int
    in_flight: int
    real: int


@dataclass(frozen=True)
class Told:
    """What a worker has to say."""

    seconds: float
    cpu_s: float
    memory_mb: list[float]
    executed: int


class Observer:
    """Counts what is finished and looks at the worker's memory on the way."""

    def __init__(self, pairs: int) -> None:
        self.memory_mb: list[float] = []
        self.executed = 0
        self._done = 0
        self._looks = [round(pairs * moment) for moment in MOMENTS]

    def note(self, made: Annotation) -> None:
        """Enter a pair.

        Raises:
            SystemExit: It has no label, so the bench measures nothing.
        """
        if made.status != "labelled":
            raise SystemExit(f"{made.status}: {made.reason}")
        self._done += 1
        self.executed += sum(execution.result.seconds > 0 for execution in made.executions)
        if self._done in self._looks:
            self.memory_mb.append(psutil.Process().memory_info().rss / 2**20)


def real_places(number: int, real: int) -> Iterator[int]:
    """Yield places of unclear pairs, spread evenly, whose programs run in the real sandbox."""
    unclear = range(0, number, len(CALLS))
    yield from (unclear[order * len(unclear) // real] for order in range(real))


async def work(share: Share) -> Told:
    """Judge a share of the pairs, as many at once as there are places."""
    everything = pairs(share.pairs)
    codes = frozenset(
        scaffolded(everything[place].code.text) for place in real_places(share.pairs, share.real)
    )
    sandbox: Sandbox = (
        PartlyReal(SandboxSettings(), codes.__contains__) if codes else made_up_sandbox()
    )
    await sandbox.check()
    committee = committee_for(share.base_url, Path(share.folder), sandbox)
    mine = everything[share.first :: share.step]
    observer = Observer(len(mine))
    waiting = iter(mine)

    async def place() -> None:
        for pair in waiting:
            observer.note(await committee.judge(pair))

    observer.note(await committee.judge(next(waiting)))  # imports litellm, once in a worker's life
    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(place() for _ in range(share.in_flight)))
    told = Told(
        seconds=time.perf_counter() - started,
        cpu_s=time.process_time() - cpu,
        memory_mb=observer.memory_mb,
        executed=observer.executed,
    )
    await committee.close()
    await sandbox.close()
    return told


async def execute(number: int) -> float:
    """Return the seconds that so many executions in the real sandbox take alone."""
    sandbox = make_sandbox(SandboxSettings())

    async def one(pair: Pair) -> None:
        async with sandbox.box(scaffolded(pair.code.text)) as box:
            await box.run(PROGRAM.format(0))

    try:
        await sandbox.check()
        started = time.perf_counter()
        await asyncio.gather(*map(one, pairs(number)))
        return time.perf_counter() - started
    finally:
        await sandbox.close()


def serve(number: int) -> None:
    """Answer as a model with a second of latency."""
    server = ScriptedServer(list(script(number, LATENCY_S)))
    print(server.base_url, flush=True)
    server.serve()


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Run this file as another process, stopped at the end."""
    command = [sys.executable, "-m", "tests.bench.bench_committee", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def run(number: int, in_flight: int, processes: int, real: int) -> tuple[list[Told], float]:
    """Return what the workers have to say, and the server's CPU seconds."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        server = stack.enter_context(process("--serve", str(number)))
        url = said_by(server)
        before = cpu_of(server)
        shares = [
            Share(url, folder, number, first, processes, in_flight // processes, real)
            for first in range(processes)
        ]
        workers = [
            stack.enter_context(process("--work", json.dumps(asdict(share)))) for share in shares
        ]
        told = [Told(**json.loads(said_by(worker))) for worker in workers]
        return told, cpu_of(server) - before


def said_by(started: subprocess.Popen[str]) -> str:
    """Return the next line that a process prints."""
    assert started.stdout is not None
    if not (line := started.stdout.readline().strip()):
        raise SystemExit("a process of the bench ended without a word; its error stands above")
    return line


def cpu_of(started: subprocess.Popen[str]) -> float:
    """Return the CPU seconds that a process has taken."""
    times = psutil.Process(started.pid).cpu_times()
    return times.user + times.system


def bench(number: int, in_flight: int, processes: int, real: int) -> None:
    """Print time, CPU and memory beside the ideals."""
    alone = asyncio.run(execute(real)) if real else 0.0
    told, server_cpu = run(number, in_flight, processes, real)
    calls = calls_of(number)
    taken = max(worker.seconds for worker in told)
    client_cpu = sum(worker.cpu_s for worker in told)
    executed = sum(worker.executed for worker in told)
    print(f"{number} pairs, {calls} calls, {executed} executions in the real sandbox")
    print(f"{in_flight} in flight in {processes} processes on {psutil.cpu_count()} cores")
    print_ideals(number, in_flight, taken, {f"{executed} executions alone": alone})
    print(f"CPU a call: client {1000 * client_cpu / calls:.2f} ms, server", end=" ")
    print(f"{1000 * server_cpu / calls:.2f} ms")
    for worker in told:
        memory = ", ".join(f"{held:.0f}" for held in worker.memory_mb)
        print(f"memory of a worker after 25, 50, 75 and 100% of its pairs: {memory} MB")


async def pay(ledger: Ledger, worker: str, number: int) -> float:
    """Return the seconds in which so many requests are reserved and kept."""
    numbers = iter(range(number))

    async def place() -> None:
        for request in numbers:
            key = digest_of([worker, request])
            reply = RawReply(text=REPLY, prompt_tokens=900, completion_tokens=60, cost_usd=1e-4)
            async with ledger.asking([key]):
                assert await ledger.find(key) is None
                async with ledger.reserved(4_000, 1e-3) as commit:
                    await commit(960, 1e-4, [(key, reply)])

    started = time.perf_counter()
    await asyncio.gather(*(place() for _ in range(PLACES)))
    await ledger.flush()
    return time.perf_counter() - started


def pay_as(worker: str, number: int, begins: float, ask: Callable[[], Ledger]) -> float:
    """Pay on a worker, from a moment on that all have in common."""
    ledger = ask()
    time.sleep(max(0.0, begins - time.time()))
    return asyncio.run(pay(ledger, worker, number))


def requests_a_second(number: int, *, by_owner: bool, resources: Sequence[str]) -> float:
    """Return the requests a second of workers that begin together.

    Args:
        number: Requests of each worker.
        by_owner: Whether they ask the journal's owner.
        resources: Those of Ray's that each of them asks for.
    """
    llm = LanguageModelSettings(model="openai/gpt-4o-mini", budget_usd=1e6)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        store = StoreSettings(folder=Path(folder, "of the flow"))
        owner = LedgerHandle(RunBudget(store, llm, Budget(), PLACES))
        stack.enter_context(owner)
        task: Any = ray.remote(pay_as)
        begins = time.time() + START_S
        running = []
        for place, name in enumerate(resources):
            direct = partial(journal_ledger, store, llm)
            ask = partial(owner.ledger, str(place)) if by_owner else direct
            placed = task.options(num_cpus=0, resources={name: 1})
            running.append(placed.remote(str(place), number, begins, ask))
        taken: list[float] = ray.get(running)
        assert journal_ledger(store, llm).spent()[0] == 960 * number * len(resources)
    return number * len(resources) / max(taken)


def bench_requests(number: int) -> None:
    """Print the medians of three rounds, in turn."""
    node: dict[str, Any] = {"num_cpus": 2, "object_store_memory": 80 * 2**20}
    head = {**node, "resources": {"here": 4}}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(**node, resources={"there": 2})
    ray.init(address=cluster.address, logging_level=logging.ERROR, log_to_driver=False)
    ways = {
        "each opens the journal": (False, ["here"] * 4),
        "its owner, one node": (True, ["here"] * 4),
        "its owner, two nodes": (True, ["here", "there"] * 2),
    }

    def measured(name: str) -> float:
        by_owner, resources = ways[name]
        return requests_a_second(number, by_owner=by_owner, resources=resources)

    try:
        rounds = [{name: measured(name) for name in ways} for _ in range(3)]
    finally:
        ray.shutdown()
        cluster.shutdown()  # type: ignore[no-untyped-call]
    medians = {name: median(one[name] for one in rounds) for name in ways}
    rival, *_ = medians.values()
    for name, requests in medians.items():
        print(f"{name:24} {requests:7,.0f} requests a second, {requests / rival:.2f} of the rival")


def main() -> None:
    """Read the options; ``--serve`` and ``--work`` are the processes of a bench."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--in-flight", type=int, default=256)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--real", type=int, default=0)
    parser.add_argument("--serve", type=int)
    parser.add_argument("--work")
    parser.add_argument("--requests", type=int)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
    elif options.work:
        told = asyncio.run(work(Share(**json.loads(options.work))))
        print(json.dumps(asdict(told)), flush=True)
    elif options.requests:
        bench_requests(options.requests)
    else:
        bench(options.pairs, options.in_flight, options.processes, options.real)


if __name__ == "__main__":
    main()
