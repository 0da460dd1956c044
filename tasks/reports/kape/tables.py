"""The study's figures as tables of text, from which page, Markdown and terminal are made."""

from collections.abc import Iterator, Sequence

import numpy as np

from infra.markdown import markdown_table, markdown_text
from infra.records import Record
from tasks.estimation.neighbours import MOST_NEIGHBOURS
from tasks.estimation.study_figures import (
    ALONE,
    BUDGETS,
    VARIATES,
    PartFigures,
    StudiedMethod,
)
from tasks.estimators.kape import KAPE, WEIGHTINGS
from tasks.reports.kape.build import DEFAULT_K, KapeReport
from tasks.reports.text import NONE

KS = tuple(range(1, MOST_NEIGHBOURS + 1))
MRR = "MRR"
_SHOWN_KS = (1, DEFAULT_K)  # as the paper shows them


class Table(Record):
    """A table: its caption, the names of its columns, and its rows, names first.

    Attributes:
        caption: What it shows.
        header: Names of the columns.
        rows: As many cells each.
        text_columns: Columns from the left that are no figures.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1


def score(value: float | None) -> str:
    """Return a score to four digits, as the paper prints them."""
    return NONE if value is None else f"{value:.4f}"


def percent(value: float | None) -> str:
    """Return a share of the test queries, or that no such share is enough."""
    return "never" if value is None else f"{value:g}%"


def place(studied: StudiedMethod) -> str:
    """Return data set and method."""
    return f"{studied.name}, {studied.method}"


def summary_table(report: KapeReport) -> Table:
    """Return truth, estimates without labels, and what a random sample needs to do better."""
    rows = []
    for each in report.studied:
        truth = each.figures.whole.truth[MRR]
        for name, estimate in _without_labels(each.figures.whole):
            error = abs(estimate - truth)
            in_sample = each.figures.ranked_in_sample.percent_below(MRR, error)
            in_all = each.figures.ranked_in_all.percent_below(MRR, error)
            cells = (score(truth), score(estimate), score(error))
            rows.append((place(each), name, *cells, percent(in_sample), percent(in_all)))
    return Table(
        caption="MRR without labels, and how many per cent a random sample needs to do better",
        header=("data set, method", "estimator", "truth", "estimate", "error",
                "sample, own codes", "sample, all codes"),
        rows=tuple(rows),
        text_columns=2,
    )  # fmt: skip


def _without_labels(figures: PartFigures) -> Iterator[tuple[str, float]]:
    """Yield the estimators that need no labels with their estimates of the MRR."""
    for k in _SHOWN_KS:
        yield f"kape, k = {k}", figures.kape_estimate(k, MRR)
    for rival in figures.rivals:
        if not rival.uses_labels:
            yield rival.estimator, rival.means[MRR][0]


def data_table(report: KapeReport) -> Table:
    """Return the sizes of the data sets, and what training and test pairs have in common."""
    rows = []
    for name in report.names:
        studied = report.of(name)[0]
        both = studied.data.overlap
        sizes = (studied.figures.training, studied.figures.queries, both.queries, both.pairs)
        left_out = sum(studied.data.left_out.values())
        rows.append((name, *(f"{number:,}" for number in (*sizes, left_out))))
    return Table(
        caption="Data sets",
        header=("data set", "training pairs", "test pairs", "test queries in training",
                "test pairs in training", "left out, no pair"),
        rows=tuple(rows),
    )  # fmt: skip


def truth_table(report: KapeReport) -> Table:
    """Return the truth of all measures (Table 2's test column)."""
    measures = tuple(report.studied[0].figures.whole.truth) if report.studied else ()
    return Table(
        caption="Truth: means over the test queries, each ranked among all test codes",
        header=("data set, method", *measures),
        rows=tuple(
            (place(each), *(score(each.figures.whole.truth[name]) for name in measures))
            for each in report.studied
        ),
    )


def table3(report: KapeReport) -> Table:
    """Return the facts of the estimators (Table 3)."""
    rivals = report.studied[0].figures.whole.rivals if report.studied else ()
    facts = {each.estimator: (each.uses_labels, each.is_stable) for each in rivals}
    facts["kape"] = (KAPE.uses_labels, KAPE.is_stable)
    return Table(
        caption="Estimators",
        header=("estimator", "needs labels", "same for every seed"),
        rows=tuple((name, _yes(uses), _yes(stable)) for name, (uses, stable) in facts.items()),
        text_columns=3,
    )


def table4(studied: StudiedMethod, part: PartFigures, measure: str) -> Table:
    """Return all estimators' estimates at all budgets (Table 4)."""
    return Table(
        caption=f"{place(studied)}: {measure}, truth {score(part.truth[measure])}",
        header=("estimator", "no labels", *(f"{each}%" for each in BUDGETS)),
        rows=tuple(_rival_rows(part, measure)),
    )


def _rival_rows(part: PartFigures, measure: str) -> Iterator[tuple[str, ...]]:
    for rival in part.rivals:
        yield budget_row(rival.estimator, rival.means[measure])
        if not rival.is_stable:
            yield budget_row(f"{rival.estimator}, deviation", rival.deviations[measure])
    for k in _SHOWN_KS:
        yield budget_row(f"kape, k = {k}", [part.kape_estimate(k, measure)])


def budget_row(name: str, values: Sequence[float]) -> tuple[str, ...]:
    """Return a row of Table 4; a single value is that of an estimator without labels."""
    if len(values) == 1:
        return (name, score(values[0]), *[NONE] * len(BUDGETS))
    return (name, NONE, *map(score, values))


def table5(report: KapeReport, measure: str = MRR) -> Table:
    """Return KAPE's estimates for all k, with their mean and population deviation (Table 5)."""
    rows = []
    for each in report.studied:
        whole = each.figures.whole
        values = [whole.kape_estimate(k, measure) for k in KS]
        spread = (score(float(np.mean(values))), score(float(np.std(values))))
        rows.append((place(each), score(whole.truth[measure]), *map(score, values), *spread))
    return Table(
        caption=f"KAPE's {measure} by its number of neighbours k",
        header=("data set, method", "truth", *map(str, KS), "mean", "deviation"),
        rows=tuple(rows),
    )


def table6(report: KapeReport) -> Table:
    """Return the fewest and the mean number of neighbours used (Table 6)."""
    ks = [each.k for each in report.studied[0].figures.neighbours] if report.studied else []
    return Table(
        caption="Neighbours used, fewest and mean, by k",
        header=("data set, method", *map(str, ks)),
        rows=tuple(
            (place(each), *(f"{n.minimum} / {n.mean:.2f}" for n in each.figures.neighbours))
            for each in report.studied
        ),
    )


def used_table(report: KapeReport) -> Table:
    """Return how many test queries use so many neighbours at k = 10."""
    numbers = tuple(reversed(KS))
    return Table(
        caption="Test queries by the number of neighbours used, k = 10",
        header=("data set, method", *map(str, numbers)),
        rows=tuple(
            (place(each), *(f"{each.figures.used.get(number, 0):,}" for number in numbers))
            for each in report.studied
        ),
    )


def table7(studied: StudiedMethod, measure: str = MRR) -> Table:
    """Return the estimates of the four weightings (Table 7)."""
    whole = studied.figures.whole
    return Table(
        caption=f"{place(studied)}: {measure}, truth {score(whole.truth[measure])}",
        header=("weighting", *map(str, KS)),
        rows=tuple((name, *map(score, whole.kape[name][measure])) for name in WEIGHTINGS),
    )


def half_table(report: KapeReport, measure: str = MRR) -> Table:
    """Return truth, KAPE and its error on each half (research question 3)."""
    rows = []
    for each in report.studied:
        for part in each.figures.parts[1:]:
            truth, found = part.truth[measure], part.kape_estimate(DEFAULT_K, measure)
            cells = (score(truth), score(found), score(abs(found - truth)))
            rows.append((place(each), part.part, f"{part.queries:,}", *cells))
    return Table(
        caption=f"{measure} by similarity to the nearest training query, k = {DEFAULT_K}",
        header=("data set, method", "half", "queries", "truth", "KAPE", "error"),
        rows=tuple(rows),
        text_columns=2,
    )


def coverage_table(report: KapeReport) -> Table:
    """Return how intervals from few labels hold, with and without control variates."""
    rows = [
        (
            place(each), f"{row.labelled:,}",
            *(f"{row.covering[name]:.1%}" for name in VARIATES),
            *(score(row.width[name] / 2) for name in VARIATES),
            *(_ratio(row.width[name], row.width[ALONE]) for name in VARIATES[1:]),
        )
        for each in report.studied
        for row in each.figures.coverage
    ]  # fmt: skip
    return Table(
        caption="95% intervals of the MRR over 500 random samples, by control variate",
        header=(
            "data set, method", "labelled", *(f"covering, {name}" for name in VARIATES),
            *(f"± {name}" for name in VARIATES), *(f"ratio, {name}" for name in VARIATES[1:]),
        ),
        rows=tuple(rows),
    )  # fmt: skip


def _ratio(width: float, alone: float) -> str:
    return f"{width / alone:.3f}" if alone else NONE


def selection_table(report: KapeReport) -> Table:
    """Return the order of the methods by KAPE and by the truth."""
    return Table(
        caption=f"Methods from best to worst, by KAPE (k = {DEFAULT_K}) and by the truth",
        header=("data set", "metric", "by KAPE", "by truth", "Kendall's tau"),
        rows=tuple(
            (each.name, each.measure, " > ".join(each.by_kape), " > ".join(each.by_truth),
             NONE if each.tau is None else f"{each.tau:.2f}")
            for each in report.selections
        ),
        text_columns=4,
    )  # fmt: skip


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def terminal_tables(report: KapeReport) -> list[Table]:
    """Return the tables that a terminal shows, those with rows."""
    tables = [
        summary_table(report), data_table(report), table5(report), half_table(report),
        coverage_table(report), selection_table(report),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def kape_markdown(report: KapeReport) -> str:
    """Return the report's tables as Markdown."""
    tables = [
        summary_table(report), data_table(report), truth_table(report), table3(report),
        *(table4(each, each.figures.whole, MRR) for each in report.studied),
        table5(report), table6(report), *map(table7, report.studied), half_table(report),
        coverage_table(report), selection_table(report),
    ]  # fmt: skip
    parts = ["# KAPE: estimated and true scores"]
    for table in tables:
        if table.rows:
            parts.append(f"## {markdown_text(table.caption)}")
            rows = markdown_table(table.header, table.rows, text_columns=table.text_columns)
            parts.append(rows)
    return "\n\n".join(parts) + "\n"
