"""How fast pairs are executed: this sandbox, ``docker run --rm``, ``docker exec``, llm-sandbox.

    pip install -e '.[rivals]'
    python -m tests.bench.bench_sandbox [--pairs 8] [--rounds 3] [--callers 1 2 4 8]

A pair is seven executions in a box that is then thrown away: a program, its repeat under another
hash seed, five mutants. Making and removing our boxes is counted in, and so is that of the
containers of ``docker exec``, one for each pair. The first result is measured from a box that was
started ahead and from none. llm-sandbox is given what it
asks for: no limits, a network, root, an image with its environment prepared, and for its pool also
containers that are made before and removed after the clock runs, and serve pair after pair.
"""

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import psutil
from rich.console import Console
from rich.table import Table

from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.backends.docker.engine import Engine
from sandbox.backends.docker.jobs import Jobs
from sandbox.base import CLOCK
from tests.bench.rivals import (
    CODE,
    EXECUTIONS,
    PROGRAM,
    DockerExec,
    DockerRun,
    LlmSandbox,
    Ours,
    Rival,
    script,
)

Result = TypeVar("Result")


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def busy_seconds() -> float:
    """Return how long this machine's processors have worked, together."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq)


def median_of(work: Callable[[], object], times: int) -> float:
    """Return the median seconds of a call."""
    return statistics.median(seconds(work) for _ in range(times))


async def our_latencies(times: int) -> dict[str, float]:
    """Return medians of the first result, from a ready box and from none, and of further ones."""
    taken: dict[str, list[float]] = {"ready": [], "cold": [], "further": [], "other seed": []}
    for first, ready in (("ready", 1), ("cold", 0)):
        sandbox = make_sandbox(SandboxSettings(slots=1, ready=ready))
        async with sandbox.box(CODE) as box:  # connects, and makes the network that is kept
            await box.run(PROGRAM)
        for _ in range(times):
            await asyncio.sleep(1)  # until the last box is removed, and the next one is ready
            started = time.perf_counter()
            async with sandbox.box(CODE) as box:
                for name, seed in ((first, 0), ("further", 0), ("other seed", 1)):
                    assert (await box.run(PROGRAM, hash_seed=seed)).outcome == "passed"
                    taken[name].append(time.perf_counter() - started)
                    started = time.perf_counter()
        await sandbox.close()
    return {name: statistics.median(values) for name, values in taken.items()}


def exec_latencies(times: int) -> tuple[float, float]:
    """Return median seconds of ``docker exec``: with the start of its container, and without."""
    first, further = [], []
    for _ in range(times):
        started = time.perf_counter()
        with DockerExec() as rival:
            assert rival.execute(CODE, 0)
            first.append(time.perf_counter() - started)
            further.append(seconds(lambda: rival.execute(CODE, 0)))
    return statistics.median(first), statistics.median(further)


def llm_latencies(rival: LlmSandbox, times: int) -> tuple[float, float]:
    """Return median seconds to the first result of a session, and of a further one."""
    pool = rival.pool(1)
    first, further = [], []
    for _ in range(times):
        started = time.perf_counter()
        with rival.session(pool) as session:
            session.run(script(CODE))
            first.append(time.perf_counter() - started)
            further.append(seconds(lambda: session.run(script(CODE))))
    if pool is not None:
        pool.close()
    return statistics.median(first), statistics.median(further)


def latencies(times: int, rivals: list[LlmSandbox]) -> Table:
    """Measure and return the table of single executions."""
    table = Table(title="one execution, medians in milliseconds", title_justify="left")
    for column in ("contender", "first result", "further", "other hash seed", "first : docker run"):
        table.add_column(column, justify="left" if column == "contender" else "right")
    runner = DockerRun()
    single = median_of(lambda: runner.execute(CODE, 0), times)
    ours = asyncio.run(our_latencies(times))
    rows = [("docker run --rm", single, single, single)]
    executed, again = exec_latencies(times)
    rows.append(("docker exec, in a new container", executed, again, again))
    rows.append(("docker exec, in a running one", again, again, again))
    rows.append(("this sandbox, cold", ours["cold"], ours["further"], ours["other seed"]))
    rows.append(("this sandbox, a box ready", ours["ready"], ours["further"], ours["other seed"]))
    for rival in rivals:
        first, further = llm_latencies(rival, max(1, times // 3))
        rows.append((rival.name, first, further, further))
    for name, first, further, other in rows:
        values = (f"{1000 * value:.1f}" for value in (first, further, other))
        table.add_row(name, *values, f"1 : {single / first:.1f}")
    return table


def throughput(pairs: int, rounds: int, callers: list[int], rivals: list[LlmSandbox]) -> Table:
    """Measure and return the table of executions a second over whole pairs.

    The last columns say what one execution costs all processors of this machine together, whatever
    they do meanwhile, and so how many there could be if they did nothing else and never waited.
    """
    contenders: list[Rival] = [DockerRun(), DockerExec(), Ours(), *rivals]
    table = Table(title="executions a second over whole pairs, medians", title_justify="left")
    table.add_column("contender")
    for number in callers:
        table.add_column(f"{number} callers", justify="right")
    table.add_column("CPU ms", justify="right")
    table.add_column("limit", justify="right")
    costs: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    paces: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for number in callers:
        taken: dict[str, list[float]] = {name: [] for name in paces}
        for _ in range(rounds):
            for contender in contenders:
                busy = busy_seconds()
                passed, used = contender.timed_pairs(pairs, number)
                costs[contender.name].append((busy_seconds() - busy) / pairs / len(EXECUTIONS))
                assert passed == 2 * pairs, f"{contender.name}: {passed} passed"
                taken[contender.name].append(used)
        for name, values in taken.items():
            paces[name].append(pairs * len(EXECUTIONS) / statistics.median(values))
    first = paces[contenders[0].name]
    for name, values in paces.items():
        ratios = (value / base for value, base in zip(values, first, strict=True))
        cells = (f"{v:.1f} ({r:.1f}x)" for v, r in zip(values, ratios, strict=True))
        cost = statistics.median(costs[name])
        table.add_row(name, *cells, f"{1000 * cost:.0f}", f"{(os.cpu_count() or 1) / cost:.1f}")
    return table


def where_time_goes(times: int) -> Table:
    """Measure the steps of a box's life, one at a time on an otherwise idle sandbox."""
    steps: dict[str, list[float]] = {}

    def timed(name: str, work: Callable[[], Result]) -> Result:
        started = time.perf_counter()
        result = work()
        steps.setdefault(name, []).append(time.perf_counter() - started)
        return result

    jobs = Jobs(SandboxSettings(), CODE, bare=False)
    job = partial(jobs.program, clock=CLOCK, timeout_s=None)
    nothing = job("", hash_seed=0, code="")
    full, other_seed = (job(PROGRAM, hash_seed=seed, code=None) for seed in (0, 1))
    engine = Engine(SandboxSettings())
    for _ in range(times):
        running = timed("start a box, until its runner waits", engine.start)
        ask = partial(running.channel.ask, timeout_s=20)
        timed("run nothing: fork, guard, clean-up", partial(ask, nothing))
        timed("run the pair's program", partial(ask, full))
        timed("run it in a new interpreter (other seed)", partial(ask, other_seed))
        timed("remove the container", partial(engine.stop, running))
    engine.owned.remove_own()
    engine.close()
    table = Table(title="where the time goes, medians", title_justify="left")
    table.add_column("step")
    table.add_column("milliseconds", justify="right")
    for name, values in steps.items():
        table.add_row(name, f"{1000 * statistics.median(values):.1f}")
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--times", type=int, default=15, help="repeats of single executions")
    parser.add_argument("--skip-pool", action="store_true", help="leave llm-sandbox's pool out")
    options = parser.parse_args()
    try:
        rivals = [LlmSandbox(pooled=pooled) for pooled in (False, True)[: 2 - options.skip_pool]]
    except ImportError:
        print("llm-sandbox is not installed and left out; see the extra `rivals`")
        rivals = []
    console = Console(width=120)
    console.print(latencies(options.times, rivals))
    console.print(where_time_goes(options.times))
    console.print(throughput(options.pairs, options.rounds, options.callers, rivals))


if __name__ == "__main__":
    main()
