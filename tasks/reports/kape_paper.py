"""The figures that the KAPE paper prints, read from ``kape_paper.toml``, as tables like ours."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from pydantic import Field

from infra.records import Record
from tasks.estimation.study import BUDGETS
from tasks.estimators.kape import MOST_NEIGHBOURS
from tasks.reports.document import Block, Figure, Table
from tasks.reports.figures import Curve, Dot, columns_figure, curves_figure
from tasks.reports.text import NONE
from tasks.studies import paper_data

KS = tuple(range(1, MOST_NEIGHBOURS + 1))
MRR = "MRR"
PEOPLE = "human evaluation"  # as `published.toml` calls it
K_HEADER = ("data set, method", "truth", *map(str, KS), "mean", "deviation")
NEAREST = ("reciprocal rank", "of the nearest", "cosine")
PAIRS = ("training pairs", "validation pairs", "test pairs")
_FILE = Path(__file__).with_suffix(".toml")

Cell = TypeVar("Cell")
Values = tuple[float, ...]


class PublishedFacts(Record):
    """Row of Table 3: the properties of an estimator."""

    uses_labels: bool
    is_stable: bool


class PublishedNeighbours(Record):
    """A row of Table 6: for k = 3 to 10 the fewest neighbours used of a query, and the mean."""

    minimum: tuple[int, ...] = Field(min_length=8, max_length=8)
    mean: Values = Field(min_length=8, max_length=8)


class PublishedTables(Record):
    """The tables of the paper; others are in ``published.toml``, which `elsewhere` reads.

    Attributes:
        budgets: Of Table 4, in per cent of the test queries.
        table1: Data set → model → test queries' reciprocal ranks, those of their nearest training
            queries, and the cosines.
        sizes: Data set → training, validation and test pairs.
        table3: Estimator → facts.
        table4: Data set → model → estimator → estimates at the budgets, or a single one.
        table6: Data set → model → neighbours used.
        used: Data set → model → neighbours used at k = 10 → queries.
        table7: Data set → model → weighting → estimates for k = 1 to 10.
    """

    budgets: tuple[int, ...]
    table1: dict[str, dict[str, tuple[tuple[float, float, float], ...]]]
    sizes: dict[str, tuple[int, int, int]]
    table3: dict[str, PublishedFacts]
    table4: dict[str, dict[str, dict[str, Values]]]
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


def budget_figure(
    about: str,
    estimates: Iterable[tuple[str, Sequence[float]]],
    bands: Mapping[str, Sequence[float]] = MappingProxyType({}),
) -> list[Block]:
    """Return estimates at all budgets drawn (Figure 4), the first of them the truth.

    Args:
        about: What they are of.
        estimates: Name → estimates at the budgets, or a single one.
        bands: Name → deviations at the budgets.
    """
    curves = [
        Curve(name, tuple(zip(BUDGETS, values, strict=False)), tuple(bands.get(name, ())))
        for name, values in estimates
    ]
    return [about, curves_figure("% of the test queries labelled", MRR, curves, about)]


def used_figure(used: Mapping[int, int]) -> Figure:
    """Return the shares of queries by the neighbours that KAPE uses of ten, drawn (Figure 8)."""
    queries = sum(used.values()) or 1
    columns = [Dot(str(number), used[number] / queries) for number in sorted(used)]
    return columns_figure("neighbours used", "share of the queries", columns)


def drawn() -> list[Block]:
    """Return the paper's figures whose values are published: 4 (of Table 4), 7 and 8."""
    paper, trained = published_tables(), elsewhere("Table 2")
    blocks: list[Block] = []
    for name, model, estimates in cells_of(paper.table4):
        rows = [("truth", (trained[model][f"{name}, {MRR}"],)), *estimates.items()]
        blocks += budget_figure(f"The paper: {name}, {model} (Figure 4, of Table 4)", rows)
    for name, model, used in cells_of(paper.used):
        blocks += [f"The paper: {name}, {model} (Figure 8)", used_figure(used)]
    judged = [Dot(model, by["right"], digits=1) for model, by in elsewhere(PEOPLE).items()]
    told = "The paper: right answers of 23 questions, mean of five developers (Figure 7)"
    return [*blocks, told, columns_figure("model", "right answers", judged)]


def estimator_table(caption: str, facts: Mapping[str, tuple[bool, bool]]) -> Table:
    """Return Table 3: each estimator's selection, use of labels and stability."""
    rows = [
        (
            name,
            "test queries" if uses_labels else "training queries",
            "as the budget allows" if uses_labels else "as many as test queries",
            "yes" if uses_labels else "no",
            "yes" if is_stable else "no",
        )
        for name, (uses_labels, is_stable) in facts.items()
    ]
    header = ("estimator", "selected", "how many", "labour", "stable")
    return Table(header, rows, text_columns=5, caption=caption)


def elsewhere(place: str) -> dict[str, dict[str, float]]:
    """Return row → column → value of a place of the paper that `published.toml` has."""
    rows: dict[str, dict[str, float]] = {}
    for each in paper_data().figures:
        if (each.paper, each.place) == ("kape", place):
            rows.setdefault(each.row, {})[each.column] = each.value
    return rows


def _trained() -> Table:
    """Return Table 8: scores of models that are trained from nothing."""
    rows = elsewhere("Table 8")
    return Table(
        ("model", *next(iter(rows.values()))),
        [(model, *map(score, values.values())) for model, values in rows.items()],
        caption="KAPE, Table 8: MRR of models trained from nothing",
    )


def paper_tables() -> list[Table]:
    """Return the paper's tables: 1, sizes of its data, 2 to 8, and people's judgements."""
    paper, trained = published_tables(), elsewhere("Table 2")

    def truth(name: str, model: str) -> str:
        return score(trained[model][f"{name}, {MRR}"])

    def caption(number: int, name: str, model: str) -> str:
        return f"KAPE, Table {number}: {name}, {model}, truth {truth(name, model)}"

    both = [
        (model, *(f"{score(of[f'{name}, dev {MRR}'])} / {truth(name, model)}"
                  for name in paper.sizes))
        for model, of in trained.items()
    ]  # fmt: skip
    sizes = [(name, *(f"{each:,}" for each in three)) for name, three in paper.sizes.items()]
    by_k = [
        (place, truth(*place.split(", ")), *map(score, of.values()))
        for place, of in elsewhere("Table 5").items()
    ]
    neighbours = [
        (f"{name}, {model}",
         *(f"{low} / {mean:.2f}" for low, mean in zip(row.minimum, row.mean, strict=True)))
        for name, model, row in cells_of(paper.table6)
    ]  # fmt: skip
    weightings = [
        Table(
            ("weighting", *map(str, KS)),
            [(weighting, *map(score, values)) for weighting, values in estimates.items()],
            caption=caption(7, name, model),
        )
        for name, model, estimates in cells_of(paper.table7)
    ]
    nearest = [
        Table(
            ("test query", *NEAREST),
            [(f"{number}", *map(score, row)) for number, row in enumerate(rows, 1)],
            caption=f"KAPE, Table 1: {name}, {model}",
        )
        for name, model, rows in cells_of(paper.table1)
    ]  # fmt: skip
    judged = [(model, f"{by['right']:g}", score(by["right"] / 23), score(by["KAPE"]))
              for model, by in elsewhere(PEOPLE).items()]  # fmt: skip
    return [
        *nearest,
        Table(("data set", *PAIRS), sizes, caption="KAPE: sizes of the data sets"),
        Table(
            ("model", *paper.sizes), both,
            caption="KAPE, Table 2: MRR on the validation / test sets",
        ),
        estimator_table(
            "KAPE, Table 3: estimators",
            {name: (facts.uses_labels, facts.is_stable) for name, facts in paper.table3.items()},
        ),
        *(budget_table(caption(4, n, m), e.items()) for n, m, e in cells_of(paper.table4)),
        Table(K_HEADER, by_k, caption="KAPE, Table 5: MRR by k"),
        Table(
            ("data set, method", *map(str, KS[2:])), neighbours,
            caption="KAPE, Table 6: neighbours used, fewest / mean, by k",
        ),
        *weightings,
        _trained(),
        Table(
            ("model", "right of 23", "share", "KAPE"), judged,
            caption="KAPE, human evaluation: 23 Java questions, mean of five developers",
        ),
    ]  # fmt: skip
