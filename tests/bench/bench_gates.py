"""What the gates cost and what mutants show, on CoSQA's functions in the real sandbox.

    COSQA_DATA=... python -m tests.bench.bench_gates [--functions 200]

First the hand-written test programs: the time of all gates of a pair against that of the program's
own run. Then functions that run as they are or with their imports: how many mutants each has, how
many of them behave differently when called with a fixed set of values, what a good test made of the
function's own answers kills, and what all gates of it take.
"""

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from statistics import fmean, median, quantiles
from typing import NamedTuple

from agents.evidence import Draft
from agents.gates.validator import OracleValidator
from infra.languages.python import Python
from infra.languages.python.mutation import mutants_of
from infra.languages.python.scaffolding import scaffolded
from infra.records import Code, OracleReport, Outcome, Pair, Query
from infra.settings import GateSettings, SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import Sandbox
from tests.agents.cosqa import Scripted, scripted_pairs
from tests.bench.measure import cosqa_data
from tests.bench.regressions import Behaviour, behaviour, functions

GATES = GateSettings()
_QUERY = Query.of("what the function does")


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
        report = await OracleValidator(GATES, Python()).validate(item.pair, draft, result, box)
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


class Examined(NamedTuple):
    """A function with a good test of it: its mutants, as (kind, behaves differently), and gates."""

    mutants: list[tuple[str, bool]]
    gates_s: float
    report: OracleReport


async def examined(code: Code, usual: Behaviour, sandbox: Sandbox) -> Examined:
    """Look at what a function's mutants do, and at what the gates say of a good test."""
    pair, draft = Pair(query=_QUERY, code=code), Draft(reading="", program=usual.program)
    async with sandbox.box(scaffolded(code.text)) as box:
        result = await box.run(draft.program)
        started = time.perf_counter()
        report = await OracleValidator(GATES, Python()).validate(pair, draft, result, box)
        gates_s = time.perf_counter() - started
        mutants: list[tuple[str, bool]] = []
        for mutant in mutants_of(code.text, GATES.mutants):
            found = await behaviour(box, mutant.code)
            same = isinstance(found, Behaviour) and found.digest == usual.digest
            mutants.append((mutant.kind, not same))
    return Examined(mutants, gates_s, report)


async def bench_mutants(sandbox: Sandbox, wanted: int) -> None:
    """Print how many mutants functions have, how many differ, and what a good test makes of them.

    A good test compares a function's answers to a few calls with what they have been all along.
    """
    found: list[Examined] = []
    looked_at: Counter[str] = Counter()
    async with sandbox.box("") as box:
        for code in functions():
            if len(found) == wanted:
                break
            usual = await behaviour(box, code.text)
            looked_at["runs" if isinstance(usual, Behaviour) else usual] += 1
            if isinstance(usual, Behaviour):
                found.append(await examined(code, usual, sandbox))
    print(f"{looked_at.total()} functions looked at: {dict(looked_at.most_common())}")
    _print_mutants(found)
    _print_verdicts(found)


def _print_mutants(found: list[Examined]) -> None:
    kinds = Counter(mutant for item in found for mutant in item.mutants)
    different = sum(number for (_, differs), number in kinds.items() if differs)
    each = median(len(item.mutants) for item in found)
    print(f"{len(found)} functions that run: {kinds.total()} mutants, median {each:.0f}")
    print(f"  behave differently: {different} ({different / kinds.total():.0%})")
    for kind in sorted({kind for kind, _ in kinds}):
        total = kinds[kind, True] + kinds[kind, False]
        print(f"    {kind:<10}{kinds[kind, True]:>5} of {total}")


def _ends_of_different(item: Examined) -> list[Outcome]:
    """Return how the test ended on each mutant that behaves differently."""
    tried = zip(item.report.trials, item.mutants, strict=False)  # strong mutants come after these
    return [trial.outcome for trial, (_, differs) in tried if differs]


def _print_verdicts(found: list[Examined]) -> None:
    trials = Counter(trial.outcome for item in found for trial in item.report.trials)
    different = [_ends_of_different(item) for item in found]
    noticed = Counter(end for ends in different for end in ends)
    print(f"a good test of each: {trials.total()} mutants tried")
    print(f"  killed of those that ran to an end: {_share_killed(trials)}")
    print(f"  and of these that behave differently: {_share_killed(noticed)}")
    judged = Counter(item.report.judged for item in found)
    print(f"  functions with 0, 1 mutants that ran to an end: {judged[0]}, {judged[1]}")
    valid = sum(not item.report.faults for item in found)
    alike = sum(
        bool(item.report.faults) and "passed" not in ends
        for item, ends in zip(found, different, strict=True)
    )
    print(f"  valid oracles: {valid} ({valid / len(found):.0%})")
    print(f"  void though it missed no mutant that behaves differently: {alike}")
    seconds = [item.gates_s for item in found]
    print(f"  all gates of a pair: median {median(seconds):.3f} s,", end=" ")
    print(f"9 of 10 below {quantiles(seconds, n=10)[-1]:.3f} s")


def _share_killed(ends: Mapping[Outcome, int]) -> str:
    killed = ends["assertion_failed"]
    judged = killed + ends["passed"]
    return f"{killed} of {judged} ({killed / judged:.0%})"


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
    options = parser.parse_args()
    cosqa_data()
    asyncio.run(bench(options.functions))


if __name__ == "__main__":
    main()
