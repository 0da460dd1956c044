"""The command line of the chaos harness; see `tests.chaos`."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

import tests.chaos
from tests.chaos.breaks import KINDS, missing_here, schedule
from tests.chaos.harness import Harness, harness_of, own_engine_if_possible, say
from tests.chaos.one_seed import Outcome, run_seed
from tests.fuzzing import tonight


def main() -> None:
    """Play the seeds, print a table, and end with status 1 where a law did not hold."""
    options = _options()
    seeds = [options.seed] if options.seed is not None else tonight(options.seeds)
    with (
        own_engine_if_possible(wanted=options.engine) as engine,
        harness_of(options.pairs, engine) as harness,
    ):
        say("a run in which nothing breaks")
        harness.run_undisturbed()
        missing = missing_here(has_engine=engine is not None)
        outcomes = [_outcome_of(harness, seed, options.kinds or (), missing) for seed in seeds]
    print_outcomes(outcomes)
    sys.exit(any(outcome.faults for outcome in outcomes))


def _outcome_of(
    harness: Harness, seed: int, kinds: Sequence[str], missing: Mapping[str, str]
) -> Outcome:
    breaks = schedule(seed, kinds)
    for name in {one.kind for one in breaks} & missing.keys():
        say(f"seed {seed}: without {name!r}, since {missing[name]}")
    outcome = run_seed(harness, seed, [one for one in breaks if one.kind not in missing])
    say(f"seed {seed}: {outcome.broken}")
    say(f"  {outcome.runs} runs, {outcome.seconds:.0f} s, {outcome.asked_again} asked again: "
        f"{'; '.join(outcome.faults) or 'all laws hold'}")  # fmt: skip
    return outcome


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description=tests.chaos.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=50, help="run so many seeds")
    parser.add_argument("--seed", type=int, help="run this one alone")
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument(
        "--no-engine", dest="engine", action="store_false", help="use the machine's"
    )
    parser.add_argument("--break", dest="kinds", action="append", choices=list(KINDS),
                        help="break only this; may be repeated")  # fmt: skip
    return parser.parse_args()


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Print a line for each seed, and what was broken how often."""
    table = Table(title="chaos", title_justify="left")
    for column in ("seed", "what broke, and when", "runs", "seconds", "asked again", "laws"):
        table.add_column(column, justify="right" if column in ("runs", "seconds") else "left")
    for one in outcomes:
        laws = f"{len(one.faults)} broken" if one.faults else "hold"
        table.add_row(str(one.seed), one.broken, str(one.runs), f"{one.seconds:.0f}",
                      str(one.asked_again), laws)  # fmt: skip
    Console(width=int(os.environ.get("COLUMNS", "160"))).print(table)
    times = Counter(order.kind for one in outcomes for order, _ in one.done)
    print("broken: " + ", ".join(f"{kind} {number}" for kind, number in times.most_common()))
    failed = [str(one.seed) for one in outcomes if one.faults]
    print(f"{len(outcomes)} seeds, laws broken in: {', '.join(failed) or 'none'}")


if __name__ == "__main__":
    main()
