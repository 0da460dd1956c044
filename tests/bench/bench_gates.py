"""What the gates cost and what mutants show, on CoSQA's functions in the real sandbox.

    COSQA_DATA=... python -m tests.bench.bench_gates [--functions 200]

First the hand-written test programs: the time of all gates of a pair against that of the program's
own run. Then functions that run as they are or with their imports: how many mutants each has and
how many of them behave differently when called with a fixed set of values.
"""

import argparse
import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import NamedTuple

from agents.evidence import Draft
from agents.gates import Gatekeeper
from agents.mutants import Mutant, mutants_of
from agents.scaffolding import scaffolded
from infra.records import Code, OracleReport
from infra.settings import GateSettings, SandboxSettings
from sandbox.base import Box, Sandbox
from sandbox.registry import make_sandbox
from tests.agents.cosqa import Scripted, scripted_pairs

GATES = GateSettings()
PROBE = """
import inspect, itertools, target
VALUES = (0, 3, -2.5, "b a", "", [3, 1, 2], [], {"k": 1, "l": 2}, (1, 2), True, None, [[1], [2]])
[function] = [
    value for value in vars(target).values()
    if inspect.isfunction(value) and value.__module__ == "target"
]
needed = sum(p.default is p.empty for p in inspect.signature(function).parameters.values())
answers = []
for values in itertools.islice(itertools.product(VALUES, repeat=needed), 150):
    try:
        answer = function(*values)
        answers.append(repr(list(answer) if inspect.isgenerator(answer) else answer))
    except Exception as error:
        answers.append(type(error).__name__)
print(sum(not answer.isidentifier() for answer in answers), answers)
"""


class Timed(NamedTuple):
    """A test program with the seconds of its own run and of all gates."""

    run_s: float
    gates_s: float
    report: OracleReport


async def timed(item: Scripted, sandbox: Sandbox) -> Timed:
    """Run a hand-written program and inspect it."""
    draft = Draft(reading="", program=item.replies["writer"]["program"])
    async with sandbox.box(scaffolded(item.pair.code.text)) as box:
        await box.run(draft.program)
        started = time.perf_counter()
        result = await box.run(draft.program)
        ran = time.perf_counter()
        report = await Gatekeeper(GATES).inspect(item.pair, draft, result, box)
        return Timed(ran - started, time.perf_counter() - ran, report)


async def bench_programs(sandbox: Sandbox) -> None:
    """Print what the gates cost."""
    found = [await timed(item, sandbox) for item in scripted_pairs() if item.unclear]
    gates, runs = [item.gates_s for item in found], [item.run_s for item in found]
    scores = [item.report.mutation_score for item in found if item.report.trials]
    known = [score for score in scores if score is not None]
    print(f"{len(found)} hand-written programs, at most {GATES.mutants} mutants each")
    print(f"  own run     median {median(runs):.3f} s")
    print(
        f"  all gates   median {median(gates):.3f} s, 9 of 10 below "
        f"{quantiles(gates, n=10)[-1]:.3f} s, {median(gates) / median(runs):.1f} times the run"
    )
    print(f"  mutation score of {len(known)} that passed: mean {fmean(known):.2f}")


def functions() -> Iterator[Code]:
    """Yield CoSQA's functions without ``self``, each once."""
    file = Path(os.environ["COSQA_DATA"]) / "cosqa-dev.json"
    texts = dict.fromkeys(item["code"] for item in json.loads(file.read_text("utf-8")))
    for text in texts:
        if "self" not in text and "def " in text:
            yield Code.of(text)


async def behaviour(box: Box, code: str) -> str | None:
    """Return what a function gives for the probe's values, None if it gives nothing."""
    result = await box.run(PROBE, code=scaffolded(code), timeout_s=GATES.mutant_timeout_s)
    if result.outcome != "passed":
        return None
    given, _, answers = result.stdout.rstrip().rpartition("\n")[-1].partition(" ")
    return answers if given not in ("", "0") else None


async def bench_mutants(sandbox: Sandbox, wanted: int) -> None:
    """Print how many mutants functions have and how many behave differently."""
    made: list[int] = []
    kinds: Counter[tuple[str, bool]] = Counter()
    making = time_in_boxes = 0.0
    async with sandbox.box("") as box:
        for code in functions():
            if len(made) == wanted:
                break
            usual = await behaviour(box, code.text)
            if usual is None:
                continue
            started = time.perf_counter()
            mutants: tuple[Mutant, ...] = mutants_of(code.text, GATES.mutants)
            ready = time.perf_counter()
            for mutant in mutants:
                kinds[mutant.kind, await behaviour(box, mutant.code) != usual] += 1
            making += ready - started
            time_in_boxes += time.perf_counter() - ready
            made.append(len(mutants))
    everything = sum(kinds.values())
    different = sum(number for (_, differs), number in kinds.items() if differs)
    print(f"{len(made)} functions that run: {everything} mutants, median {median(made):.0f}")
    print(f"  behave differently: {different} ({different / everything:.0%})")
    for kind in sorted({kind for kind, _ in kinds}):
        total = kinds[kind, True] + kinds[kind, False]
        print(f"    {kind:<10}{kinds[kind, True]:>5} of {total}")
    print(f"  made in {1000 * making / everything:.2f} ms each, against", end=" ")
    print(f"{1000 * time_in_boxes / everything:.0f} ms for a run")


async def bench(wanted: int) -> None:
    """Print both tables."""
    sandbox = make_sandbox(SandboxSettings())
    print(await sandbox.check())
    try:
        await bench_programs(sandbox)
        await bench_mutants(sandbox, wanted)
    finally:
        await sandbox.close()


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--functions", type=int, default=200)
    asyncio.run(bench(parser.parse_args().functions))


if __name__ == "__main__":
    main()
