"""The figures that the KAPE paper prints, read from ``kape_paper.toml``, as tables like ours."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from infra.records import Record
from tasks.estimation.study_figures import BUDGETS
from tasks.estimators.kape import MOST_NEIGHBOURS
from tasks.reports.document import Table
from tasks.reports.text import NONE

KS = tuple(range(1, MOST_NEIGHBOURS + 1))
MRR = "MRR"
PAIRS = ("training pairs", "validation pairs", "test pairs")
_FILE = Path(__file__).with_suffix(".toml")

Cell = TypeVar("Cell")
Values = tuple[float, ...]


class PublishedFacts(Record):
    """What Table 3 says of an estimator."""

    uses_labels: bool
    is_stable: bool


class PublishedKape(Record):
    """A row of Table 5: estimates for k = 1 to 10, and their mean and deviation as printed."""

    values: Values = Field(min_length=10, max_length=10)
    mean: float
    deviation: float


class PublishedNeighbours(Record):
    """A row of Table 6: for k = 3 to 10 the fewest neighbours used of a query, and the mean."""

    minimum: tuple[int, ...] = Field(min_length=8, max_length=8)
    mean: Values = Field(min_length=8, max_length=8)


class PublishedTables(Record):
    """The tables of the paper.

    Attributes:
        title: Of the paper.
        budgets: Of Table 4, in per cent of the test queries.
        sizes: Data set → training, validation and test pairs.
        table2: Model → data set → MRR on its validation and on its test set.
        table3: Estimator → facts.
        table4: Data set → model → estimator → estimates at the budgets, or a single one.
        table5: Model → data set → KAPE's estimates.
        table6: Data set → model → neighbours used.
        used: Data set → model → neighbours used at k = 10 → queries.
        table7: Data set → model → weighting → estimates for k = 1 to 10.
    """

    title: str
    budgets: tuple[int, ...]
    sizes: dict[str, tuple[int, int, int]]
    table2: dict[str, dict[str, tuple[float, float]]]
    table3: dict[str, PublishedFacts]
    table4: dict[str, dict[str, dict[str, Values]]]
    table5: dict[str, dict[str, PublishedKape]]
    table6: dict[str, dict[str, PublishedNeighbours]]
    used: dict[str, dict[str, dict[int, int]]]
    table7: dict[str, dict[str, dict[str, Values]]]


@cache
def published_tables() -> PublishedTables:
    """Return the tables of the paper."""
    return PublishedTables.model_validate(tomllib.loads(_FILE.read_text("utf-8")))


def cells_of(table: Mapping[str, Mapping[str, Cell]]) -> Iterator[tuple[str, str, Cell]]:
    """Yield row, column and cell of a table."""
    for row, cells in table.items():
        for column, cell in cells.items():
            yield row, column, cell


def score(value: float | None) -> str:
    """Return a score to four digits, as the paper prints them."""
    return NONE if value is None else f"{value:.4f}"


def budget_table(caption: str, estimates: Iterable[tuple[str, Sequence[float]]]) -> Table:
    """Return estimates at all budgets (Table 4); a single one is by an estimator without labels."""
    rows = [
        (name, score(values[0]), *[NONE] * len(BUDGETS))
        if len(values) == 1
        else (name, NONE, *map(score, values))
        for name, values in estimates
    ]
    header = ("estimator", "no labels", *(f"{each}%" for each in BUDGETS))
    return Table(header, rows, caption=caption)


def k_table(caption: str, estimates: Iterable[tuple[str, Sequence[float]]]) -> Table:
    """Return truth, KAPE's estimates for all k, their mean and their deviation (Table 5)."""
    header = ("data set, method", "truth", *map(str, KS), "mean", "deviation")
    rows = [(name, *map(score, values)) for name, values in estimates]
    return Table(header, rows, caption=caption)


def neighbours_table(
    caption: str, used: Iterable[tuple[str, Iterable[int], Iterable[float]]]
) -> Table:
    """Return the fewest and the mean number of neighbours used (Table 6)."""
    rows = [
        (name, *(f"{low} / {mean:.2f}" for low, mean in zip(fewest, means, strict=True)))
        for name, fewest, means in used
    ]
    return Table(("data set, method", *map(str, KS[2:])), rows, caption=caption)


def used_table(caption: str, used: Iterable[tuple[str, Mapping[int, int]]]) -> Table:
    """Return how many queries use so many neighbours."""
    numbers = KS[::-1]
    rows = [(name, *(f"{queries.get(n, 0):,}" for n in numbers)) for name, queries in used]
    return Table(("data set, method", *map(str, numbers)), rows, caption=caption)


def weighting_table(caption: str, estimates: Iterable[tuple[str, Sequence[float]]]) -> Table:
    """Return the estimates of the weightings (Table 7)."""
    rows = [(name, *map(score, values)) for name, values in estimates]
    return Table(("weighting", *map(str, KS)), rows, caption=caption)


def published() -> dict[int, list[Table]]:
    """Return the paper's Tables 2 and 4 to 7 by their numbers, the sizes of its data with 2."""
    paper = published_tables()
    truth = {(name, model): test for model, name, (_, test) in cells_of(paper.table2)}

    def caption(number: int, name: str, model: str) -> str:
        return f"KAPE, Table {number}: {name}, {model}, truth {score(truth[name, model])}"

    both = [
        (model, *(f"{score(valid)} / {score(test)}" for valid, test in by_data.values()))
        for model, by_data in paper.table2.items()
    ]
    sizes = [(name, *(f"{each:,}" for each in three)) for name, three in paper.sizes.items()]
    by_k = [
        (f"{name}, {model}", (truth[name, model], *row.values, row.mean, row.deviation))
        for model, name, row in cells_of(paper.table5)
    ]
    neighbours = [(f"{n}, {m}", row.minimum, row.mean) for n, m, row in cells_of(paper.table6)]
    used = [(f"{name}, {model}", queries) for name, model, queries in cells_of(paper.used)]
    header = ("model", *next(iter(paper.table2.values())))
    beside = "KAPE, beside Table 6: test queries by the number of neighbours used, k = 10"
    return {
        2: [
            Table(("data set", *PAIRS), sizes, caption="KAPE: sizes of the data sets"),
            Table(header, both, caption="KAPE, Table 2: MRR on the validation / test sets"),
        ],
        4: [budget_table(caption(4, n, m), e.items()) for n, m, e in cells_of(paper.table4)],
        5: [k_table("KAPE, Table 5: MRR by k", by_k)],
        6: [
            neighbours_table("KAPE, Table 6: neighbours used, fewest / mean, by k", neighbours),
            used_table(beside, used),
        ],
        7: [weighting_table(caption(7, n, m), e.items()) for n, m, e in cells_of(paper.table7)],
    }
