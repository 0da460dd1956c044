"""All figures of the study, ours and published, as one long Arrow table."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import pyarrow as pa

from tasks.estimation.study_figures import (
    BUDGETS,
    PartFigures,
    RivalFigures,
    StudiedMethod,
)
from tasks.estimators.kape import NeighboursUsed
from tasks.reports.kape import KapeReport
from tasks.reports.kape_paper import KS, MRR, PublishedTables, cells_of, published_tables

SCHEMA = pa.schema(
    {
        "origin": pa.string(),
        "data": pa.string(),
        "method": pa.string(),
        "part": pa.string(),
        "figure": pa.string(),
        "estimator": pa.string(),
        "weighting": pa.string(),
        "k": pa.int64(),
        "budget": pa.float64(),
        "similarity": pa.float64(),
        "metric": pa.string(),
        "value": pa.float64(),
    }
)
_OURS, _PAPER = "computed", "KAPE"
_NEIGHBOURS = ("fewest neighbours", "mean neighbours")

Row = dict[str, object]

_VALID: Row = {"figure": "truth of validation"}


def figures_table(report: KapeReport) -> pa.Table:
    """Return a table of `SCHEMA`: a row for each figure, ``origin`` saying whose it is.

    ``part`` is all, similar or different; ``budget`` is in per cent of the test queries;
    ``similarity``, to the nearest training query, is where a bin of its density begins.
    """
    rows = [row for each in report.studied for row in _of_method(each)]
    rows += list(_published(published_tables()))
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _of_method(studied: StudiedMethod) -> Iterator[Row]:
    common: Row = {"origin": _OURS, "data": studied.name, "method": studied.method}
    figures = studied.figures
    for part in figures.parts:
        for row in _of_part(part):
            yield common | {"part": part.part} | row
    of_whole = chain(
        (_VALID | {"metric": name, "value": n} for name, n in figures.validation_truth.items()),
        _neighbours_used(figures.neighbours, "kape"),
        _neighbours_used(figures.neighbours_as_printed, "kape-printed"),
    )
    for row in of_whole:
        yield common | {"part": "all"} | row


def _of_part(part: PartFigures) -> Iterator[Row]:
    for measure, value in part.truth.items():
        yield {"figure": "truth", "metric": measure, "value": value}
    for weighting, by_measure in part.kape.items():
        for measure, values in by_measure.items():
            yield from _by_k(values, weighting=weighting, metric=measure)
    for rival in part.rivals:
        yield from _of_rival(rival)
    for place, height in enumerate(part.density.heights):
        low = round(part.density.low + place * part.density.width, 4)
        yield {"figure": "density", "similarity": low, "value": height}


def _by_k(values: Sequence[float], **more: object) -> Iterator[Row]:
    for k, value in zip(KS, values, strict=True):
        yield {"figure": "estimate", "estimator": "kape", "k": k, "value": value} | more


def _of_rival(rival: RivalFigures) -> Iterator[Row]:
    for figure, by_measure in (
        ("estimate", rival.means),
        ("deviation", rival.deviations),
        ("error", rival.errors),
    ):
        for measure, values in by_measure.items():
            more = {"figure": figure, "metric": measure}
            yield from (row | more for row in _by_budget(rival.estimator, values))


def _by_budget(estimator: str, values: Sequence[float]) -> Iterator[Row]:
    """Yield a row for each budget; a single value needs no labels, and has no budget."""
    budgets = [None] if len(values) == 1 else BUDGETS
    for budget, value in zip(budgets, values, strict=True):
        yield {"figure": "estimate", "estimator": estimator, "budget": budget, "value": value}


def _neighbours_used(used: Sequence[NeighboursUsed], estimator: str) -> Iterator[Row]:
    return _neighbours([n.minimum for n in used], [n.mean for n in used], estimator)


def _neighbours(
    minimum: Sequence[int], mean: Sequence[float], estimator: str = "kape"
) -> Iterator[Row]:
    for figure, values in zip(_NEIGHBOURS, (minimum, mean), strict=True):
        for k, value in zip(KS[2:], values, strict=True):
            yield {"figure": figure, "estimator": estimator, "k": k, "value": value}


def _published(paper: PublishedTables) -> Iterator[Row]:
    """Yield the rows of the paper's Tables 2 and 4 to 7; KAPE's own in Table 4 are of Table 5."""
    for data, method, rows in (*_of_data(paper), *_of_models(paper)):
        for row in rows:
            common: Row = {"origin": _PAPER, "data": data, "method": method, "part": "all"}
            metric = None if row["figure"] in _NEIGHBOURS else MRR
            yield common | {"metric": metric} | row


def _of_data(paper: PublishedTables) -> Iterator[tuple[str, str, Iterable[Row]]]:
    """Yield data set, model and rows of the tables by data set: 4, 6 and 7."""
    for data, model, estimates in cells_of(paper.table4):
        rivals = (each for each in estimates.items() if not each[0].startswith("kape"))
        yield data, model, chain(*(_by_budget(*each) for each in rivals))
    for data, model, used in cells_of(paper.table6):
        yield data, model, _neighbours(used.minimum, used.mean)
    for data, model, weightings in cells_of(paper.table7):
        by_k = (_by_k(values, weighting=name) for name, values in weightings.items())
        yield data, model, chain(*by_k)


def _of_models(paper: PublishedTables) -> Iterator[tuple[str, str, Iterable[Row]]]:
    """Yield data set, model and rows of the tables by model: 2 and 5."""
    for model, data, (valid, test) in cells_of(paper.table2):
        yield data, model, [{"figure": "truth", "value": test}, _VALID | {"value": valid}]
    for model, data, row in cells_of(paper.table5):
        yield data, model, _by_k(row.values)
