"""How much time the committee adds to that of a model with a second of latency.

    python -m tests.bench.bench_committee [--pairs 1000] [--at-once 256] [--processes 2]

A third of the pairs is unclear and asks three agents. The rival is the ideal: nothing but the
model's latency, with all places taken at all times. Workers are processes, as on Ray; each prints
the memory that it held after a tenth of its pairs and at its end.
"""

import argparse
import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.agents.judging import script
from tests.fakes.llm_server import ScriptedServer

LATENCY_S = 1.0
CALLS = (3, 1, 1)  # of every three pairs: screener, writer and arbiter, or the screener alone


def memory_mb() -> float:
    """Return the most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def work(base_url: str, folder: Path, numbers: range, at_once: int) -> None:
    """Judge a share of the pairs, as many at once as there are places."""
    from tests.agents.judging import committee_for, pairs  # noqa: PLC0415 - workers only

    committee = committee_for(base_url, folder)
    waiting = iter(pairs(numbers.stop)[numbers.start :: numbers.step])
    done = 0
    early = 0.0
    tenth = len(numbers) // 10

    async def place() -> None:
        nonlocal done, early
        for pair in waiting:
            made = await committee.judge(pair)
            if made.status != "labelled":
                raise SystemExit(f"{made.status}: {made.reason}")
            done += 1
            if done == tenth:
                early = memory_mb()

    started = time.perf_counter()
    await asyncio.gather(*(place() for _ in range(at_once)))
    taken = time.perf_counter() - started
    await committee.close()
    print(f"{taken:.2f} {early:.0f} {memory_mb():.0f}", flush=True)


def bench(pairs: int, at_once: int, processes: int) -> None:
    """Print the time, the ideal and their ratio."""
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-m", "tests.bench.bench_committee", "--serve", str(pairs)],
            stdout=subprocess.PIPE, text=True,
        ) as server,
    ):  # fmt: skip
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        shares = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.bench.bench_committee", "--work", url, folder,
                 str(number), str(pairs), str(processes), str(at_once // processes)],
                stdout=subprocess.PIPE, text=True,
            )
            for number in range(processes)
        ]  # fmt: skip
        said = [share.communicate()[0].split() for share in shares]
        server.kill()
    ideal = sum(CALLS[place % 3] for place in range(pairs)) * LATENCY_S / at_once
    taken = max(float(words[0]) for words in said)
    print(f"{pairs} pairs, {at_once} in flight in {processes} processes")
    print(f"ideal {ideal:.1f} s, taken {taken:.1f} s: {taken / ideal:.2f} of the ideal")
    for words in said:
        print(f"memory of a worker: {words[1]} MB after a tenth, {words[2]} MB at the end")


def serve(pairs: int) -> None:
    """Answer as a model with a second of latency."""
    server = ScriptedServer(list(script(pairs, LATENCY_S)))
    print(server.base_url, flush=True)
    server.serve()


def main() -> None:
    """Read the options; ``--serve`` and ``--work`` are the processes of a bench."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--at-once", type=int, default=256)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--serve", type=int)
    parser.add_argument("--work", nargs=6)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
    elif options.work:
        url, folder, first, last, step, at_once = options.work
        numbers = range(int(first), int(last), int(step))
        asyncio.run(work(url, Path(folder), numbers, int(at_once)))
    else:
        bench(options.pairs, options.at_once, options.processes)


if __name__ == "__main__":
    main()
