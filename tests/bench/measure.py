"""What the benchmarks share: medians and their table."""

import statistics
import time
from collections.abc import Callable, Mapping

from rich.console import Console
from rich.table import Table


def medians(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return contender → median seconds; they take turns, so that all meet the same machine."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            started = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def print_table(title: str, seconds: Mapping[str, float], items: int, what: str) -> None:
    """Print seconds, pace and the ratio to the first contender, a line for each."""
    table = Table(title=title, title_justify="left")
    for column in ("contender", "seconds", f"{what} a second", "pace against the first"):
        table.add_column(column, justify="left" if column == "contender" else "right")
    first = next(iter(seconds.values()))
    for name, taken in seconds.items():
        table.add_row(name, f"{taken:.3f}", f"{items / taken:,.1f}", f"{first / taken:.2f}")
    Console().print(table)
