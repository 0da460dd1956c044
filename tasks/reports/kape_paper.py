"""The figures that the KAPE paper prints, read from ``kape_paper.toml``, as tables like ours."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from infra.records import Record
from tasks.estimation.neighbours import MOST_NEIGHBOURS
from tasks.estimation.study_figures import BUDGETS
from tasks.reports.document import Table
from tasks.reports.text import NONE

KS = tuple(range(1, MOST_NEIGHBOURS + 1))
MRR = "MRR"
_FILE = Path(__file__).with_suffix(".toml")
_SOURCE = "KAPE, Table"

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


def budget_row(name: str, values: Sequence[float]) -> tuple[str, ...]:
    """Return a row of Table 4; a single value is that of an estimator without labels."""
    if len(values) == 1:
        return (name, score(values[0]), *[NONE] * len(BUDGETS))
    return (name, NONE, *map(score, values))


def published_truth() -> Table:
    """Return Table 2: MRR on the validation and on the test sets."""
    table = published_tables().table2
    rows = [
        (model, *(f"{score(valid)} / {score(test)}" for valid, test in by_data.values()))
        for model, by_data in table.items()
    ]
    header = ("model", *next(iter(table.values())))
    return Table(header, rows, caption=f"{_SOURCE} 2: MRR on the validation / test sets")


def published_budgets() -> list[Table]:
    """Return Table 4: estimates at all budgets."""
    paper = published_tables()
    header = ("estimator", "no labels", *(f"{each}%" for each in paper.budgets))
    return [
        Table(header, [budget_row(*row) for row in estimates.items()], caption=_of(4, name, model))
        for name, model, estimates in cells_of(paper.table4)
    ]


def published_by_k() -> Table:
    """Return Table 5: KAPE's estimates for all k."""
    rows = [
        (
            f"{name}, {model}",
            _truth(name, model),
            *map(score, (*row.values, row.mean, row.deviation)),
        )
        for model, name, row in cells_of(published_tables().table5)
    ]
    header = ("data set, model", "truth", *map(str, KS), "mean", "deviation")
    return Table(header, rows, caption=f"{_SOURCE} 5: MRR by k")


def published_neighbours() -> Table:
    """Return Table 6: neighbours used."""
    rows = [
        (f"{name}, {model}",
         *(f"{low} / {mean:.2f}" for low, mean in zip(row.minimum, row.mean, strict=True)))
        for name, model, row in cells_of(published_tables().table6)
    ]  # fmt: skip
    caption = f"{_SOURCE} 6: neighbours used, fewest / mean, by k"
    return Table(("data set, model", *map(str, KS[2:])), rows, caption=caption)


def published_used() -> Table:
    """Return the queries by the number of neighbours used at k = 10."""
    numbers = tuple(reversed(KS))
    rows = [
        (f"{name}, {model}", *(f"{used.get(number, 0):,}" for number in numbers))
        for name, model, used in cells_of(published_tables().used)
    ]
    caption = "KAPE, beside Table 6: test queries by the number of neighbours used, k = 10"
    return Table(("data set, model", *map(str, numbers)), rows, caption=caption)


def published_weightings() -> list[Table]:
    """Return Table 7: the estimates of the four weightings."""
    return [
        Table(
            ("weighting", *map(str, KS)),
            [(weighting, *map(score, values)) for weighting, values in rows.items()],
            caption=_of(7, name, model),
        )
        for name, model, rows in cells_of(published_tables().table7)
    ]


def _of(number: int, name: str, model: str) -> str:
    return f"{_SOURCE} {number}: {name}, {model}, truth {_truth(name, model)}"


def _truth(name: str, model: str) -> str:
    return score(published_tables().table2[model][name][1])
