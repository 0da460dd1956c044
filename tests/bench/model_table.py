"""The table of real models in `tests/README.md`: its sample of proved pairs, its figures, its rows.

Of each query one pair is taken: of every other one its answer, of those between in turn a version
that few calls show to be wrong and the answer to another query. A row has the figures of one model
in one configuration; writing it replaces the former row of the two.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean

import numpy as np
from scipy.stats import binomtest

from infra.records import Annotation
from tasks.statistics.agreement import krippendorff_alpha
from tests.bench.provable_pairs.made import ProvedPair

COLUMNS = (
    "model", "configuration", "pairs", "right labels (95%)", "alpha", "by valid execution",
    "unreadable replies", "undecided", "tokens a pair", "seconds a pair",
)  # fmt: skip
_HEAD = f"| {' | '.join(COLUMNS)} |"
ENDS = ("passed", "assertion_failed")


def share(part: int, whole: int) -> str:
    """Return a share with its interval, in percent."""
    if not whole:
        return "-"
    interval = binomtest(part, whole).proportion_ci(0.95, method="wilson")
    return f"{part / whole:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def by_execution(item: Annotation) -> bool:
    """Return whether a label rests on a valid oracle; without gates, on a run to an end."""
    if item.support == "ungated":
        return any(run.result.outcome in ENDS for run in item.executions[-1:])
    return item.support == "valid_oracle"


def sample(pairs: Sequence[ProvedPair]) -> list[ProvedPair]:
    """Return one pair of each query, matches and others in turn."""
    taken = []
    for place, (_, group) in enumerate(groupby(pairs, key=lambda pair: pair.query)):
        of_query = list(group)
        answers = [pair for pair in of_query if pair.label == 1]
        near = [pair for pair in of_query if pair.is_near_miss]
        others = [pair for pair in of_query if pair.kind == "another's" and pair.label == 0]
        wanted = (answers, near, answers, others)[place % 4]
        taken.append((wanted or others)[-1 if wanted is near else 0])
    return taken


def figures_of(
    name: str, configuration: str, pairs: Sequence[ProvedPair], items: Sequence[Annotation]
) -> list[str]:
    """Return the cells of a row.

    Args:
        name: The model's, as the table has it.
        configuration: The agents'.
        pairs: The pairs.
        items: Their annotations, in the same order.
    """
    calls = [call for item in items for call in item.calls]
    tokens = sum((call.prompt_tokens or 0) + (call.completion_tokens or 0) for call in calls)
    runs = [run.result.seconds for item in items for run in item.executions]
    labels = [[pair.label for pair in pairs], [item.label for item in items]]
    alpha = krippendorff_alpha(np.array(labels, np.float64), "nominal")
    right = sum(item.label == pair.label for pair, item in zip(pairs, items, strict=True))
    unreadable = sum(call.status == "unreadable" for call in calls)
    return [
        name, configuration, str(len(items)), share(right, len(items)), f"{alpha:.2f}",
        f"{sum(map(by_execution, items))} of {len(items)}", f"{unreadable} of {len(calls)}",
        str(sum(item.status == "undecided" for item in items)), f"{tokens / len(items):,.0f}",
        f"{(sum(call.seconds for call in calls) + sum(runs)) / len(items):.0f}",
    ]  # fmt: skip


def gain_of_evidence(
    pairs: Sequence[ProvedPair], judged: Mapping[str, Sequence[Annotation]]
) -> list[str]:
    """Return for each configuration what it is right about that reading alone is not, and back."""
    truth = np.array([pair.label for pair in pairs])
    right = {
        name: np.array([-1 if item.label is None else item.label for item in items]) == truth
        for name, items in judged.items()
    }
    alone = right.get("single")
    if alone is None:
        return []
    return [
        f"{name}: right where `single` is wrong {int((of_it & ~alone).sum())}, wrong where it is "
        f"right {int((~of_it & alone).sum())}, share {fmean(of_it) - fmean(alone):+.1%}"
        for name, of_it in right.items()
        if name != "single"
    ]


def write_row(page: Path, cells: Sequence[str]) -> None:
    """Put a row into the page's table, in place of that of the same model and configuration."""
    lines = page.read_text(encoding="utf-8").splitlines()
    first = lines.index(_HEAD) + 2
    last = next(place for place in range(first, len(lines) + 1) if lines[place][:1] != "|")
    start = f"| {cells[0]} | {cells[1]} |"
    kept = [line for line in lines[first:last] if not line.startswith(start)]
    lines[first:last] = sorted([*kept, f"| {' | '.join(cells)} |"])
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
