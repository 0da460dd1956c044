"""The command line of the chaos harness; see `tests.chaos`."""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

import tests.chaos
from infra.settings import SandboxSettings
from tests.chaos.breaks import KINDS, kinds_here
from tests.chaos.play import Outcome, play
from tests.chaos.theatre import Theatre
from tests.sandbox.own_engine import OwnEngine, own_engine, whats_missing

_ENGINE_MB = 2_500


def main() -> None:
    """Play the seeds, print a table, and end with status 1 where a law did not hold."""
    options = _options()
    seeds = [options.seed] if options.seed is not None else list(range(1, options.seeds + 1))
    with _own_engine(options.engine) as engine, tempfile.TemporaryDirectory() as folder:
        kinds = kinds_here(options.kinds, has_engine=engine is not None)
        theatre = Theatre(Path(folder), options.pairs, engine)
        try:
            say(f"collecting, and one undisturbed run of {theatre.pairs.number:,} pairs")
            theatre.prepare()
            outcomes = [_played(theatre, seed, kinds) for seed in seeds]
        finally:
            theatre.close()
    print_outcomes(outcomes)
    sys.exit(any(outcome.faults for outcome in outcomes))


def _played(theatre: Theatre, seed: int, kinds: Sequence[str]) -> Outcome:
    outcome = play(theatre, seed, kinds)
    say(f"seed {seed}: {outcome.broken}")
    say(f"  {outcome.runs} runs, {outcome.seconds:.0f} s, {outcome.asked_again} asked again: "
        f"{'; '.join(outcome.faults) or 'all laws hold'}")  # fmt: skip
    return outcome


@contextmanager
def _own_engine(wanted: bool) -> Iterator[OwnEngine | None]:
    """Yield an engine to be killed, or None where there can be none, which is said."""
    missing = whats_missing() if wanted else "not asked for"
    if missing:
        say(f"no Docker engine of its own ({missing}): dockerd is not killed")
        yield None
        return
    say("starting a Docker engine of its own, and loading the image")
    with (
        tempfile.TemporaryDirectory() as folder,
        own_engine(Path(folder), SandboxSettings().image, _ENGINE_MB) as engine,
    ):
        yield engine


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description=tests.chaos.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=50, help="play the seeds from 1 to this")
    parser.add_argument("--seed", type=int, help="play this one alone")
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


def say(words: str) -> None:
    """Print at once."""
    print(words, flush=True)


if __name__ == "__main__":
    main()
