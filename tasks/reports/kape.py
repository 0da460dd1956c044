"""The report of the KAPE study in four tables."""

from collections.abc import Sequence

import numpy as np

from infra.records import Record
from tasks.estimation.study_figures import BUDGETS, StudiedMethod
from tasks.estimators.kape import MOST_NEIGHBOURS, WEIGHTINGS
from tasks.reports.document import Document, Paragraph, Section, Table
from tasks.reports.text import NONE

MRR = "MRR"
DEFAULT_K = 5
_SHOWN_KS = (1, DEFAULT_K)  # as the paper shows them
_USUAL = "adaptive-similarity"
_HALVES = (
    "The test queries are halved at the median of the similarity to their nearest training query; "
    "each half's codes are ranked among themselves (research question 3; the paper, on PHP: off by "
    ".0079 to .0118 on the similar half, by up to .0660 on the different one)."
)
_OVERLAP = (
    "A test query that is in the training set too has itself as nearest neighbour, which makes "
    "estimates from the training set look better than they are for new queries."
)
_BUDGETS = (
    "An estimator may have so many per cent of the test queries labelled, and ranks their codes "
    "among themselves. Deviations are over three seeds, of the estimators that draw at random."
)
_WEIGHTINGS = (
    "“fixed” keeps all k neighbours, “adaptive” those whose similarity is at most one deviation "
    "below the query's mean; “equal” gives the kept ones one weight, “similarity” a weight by "
    f"cosine. KAPE is {_USUAL}, in the rows without a name."
)


class KapeReport(Record):
    """The report.

    Attributes:
        generated_at: When it was made.
        studied: Each method on each data set.
    """

    generated_at: str
    studied: tuple[StudiedMethod, ...]

    @property
    def names(self) -> list[str]:
        """The data sets."""
        return list(dict.fromkeys(each.name for each in self.studied))

    def of(self, name: str) -> list[StudiedMethod]:
        """Return the methods that were studied on a data set."""
        return [each for each in self.studied if each.name == name]


def _place(studied: StudiedMethod) -> str:
    """Return data set and method."""
    return f"{studied.name}, {studied.method}"


def summary_table(report: KapeReport) -> Table:
    """Return truth and estimates without labels, of all queries and of each half of them."""
    rows = []
    for each in report.studied:
        whole, *halves = each.figures.parts
        estimates = [(f"kape, k = {k}", whole, whole.kape_estimate(k, MRR)) for k in _SHOWN_KS]
        estimates += [
            (rival.estimator, whole, rival.means[MRR][0])
            for rival in whole.rivals
            if not rival.uses_labels
        ]
        for half in halves:
            name = f"kape, k = {DEFAULT_K}: {half.part}"
            estimates.append((name, half, half.kape_estimate(DEFAULT_K, MRR)))
        for name, part, estimate in estimates:
            truth = part.truth[MRR]
            cells = (_score(truth), _score(estimate), _score(abs(estimate - truth)))
            rows.append((_place(each), name, *cells))
    return Table(
        caption="MRR without labels; error: |estimate - truth|",
        header=("data set, method", "estimator", "truth", "estimate", "error"),
        rows=rows,
        text_columns=2,
    )


def truth_table(report: KapeReport) -> Table:
    """Return the sizes of the data sets and the truth of all measures (Table 2)."""
    measures = tuple(report.studied[0].figures.whole.truth) if report.studied else ()
    rows = []
    for each in report.studied:
        figures, both = each.figures, each.overlap
        sizes = (figures.training, figures.validation, figures.queries, both.queries, both.pairs)
        scores = (figures.validation_truth.get(MRR), *figures.whole.truth.values())
        counts = (f"{number:,}" for number in (*sizes, sum(each.left_out.values())))
        rows.append((_place(each), *counts, *map(_score, scores)))
    return Table(
        caption="Data sets, and the truth: means over the queries, each ranked among all codes",
        header=("data set, method", "training pairs", "validation pairs", "test pairs",
                "test queries in training",
                "test pairs in training", "left out, no pair", f"{MRR}, validation", *measures),
        rows=rows,
    )  # fmt: skip


def budgets_table(report: KapeReport) -> Table:
    """Return all estimators' estimates at all budgets (Table 4)."""
    rows: list[tuple[str, Sequence[float]]] = []
    for each in report.studied:
        whole, place = each.figures.whole, _place(each)
        rows.append((f"{place}: truth", [whole.truth[MRR]]))
        rows += [(f"{place}: kape, k = {k}", [whole.kape_estimate(k, MRR)]) for k in _SHOWN_KS]
        for rival in whole.rivals:
            rows.append((f"{place}: {rival.estimator}", rival.means[MRR]))
            if not rival.is_stable:
                rows.append((f"{place}: {rival.estimator}, deviation", rival.deviations[MRR]))
    return Table(
        caption=f"{MRR} by per cent of the test queries that are labelled",
        header=("estimator", "no labels", *(f"{percent}%" for percent in BUDGETS)),
        rows=[
            (name, _score(values[0]), *[NONE] * len(BUDGETS))
            if len(values) == 1
            else (name, NONE, *map(_score, values))
            for name, values in rows
        ],
    )


def neighbours_table(report: KapeReport) -> Table:
    """Return KAPE's estimates by k for each weighting, and the neighbours used (Tables 5 to 7)."""
    rows: list[tuple[str, ...]] = []
    for each in report.studied:
        whole, place = each.figures.whole, _place(each)
        for name in WEIGHTINGS:
            values = whole.kape[name][MRR]
            spread = (float(np.mean(values)), float(np.std(values)))
            about = "" if name == _USUAL else f": {name}"
            figures = (whole.truth[MRR], *values, *spread)
            rows.append((f"{place}{about}", *map(_score, figures)))
        used = (f"{n.minimum} / {n.mean:.2f}" for n in each.figures.neighbours)
        rows.append((f"{place}: neighbours used, fewest / mean", *[NONE] * 3, *used, NONE, NONE))
    ks = map(str, range(1, MOST_NEIGHBOURS + 1))
    header = ("data set, method", "truth", *ks, "mean", "deviation")
    return Table(header, rows, caption=f"KAPE's {MRR} by its number of neighbours k")


def _score(value: float | None) -> str:
    """Return a score to four digits, as the paper prints them."""
    return NONE if value is None else f"{value:.4f}"


def kape_document(report: KapeReport) -> Document:
    """Return the report as a document."""
    names = ", ".join(report.names)
    methods = ", ".join(dict.fromkeys(each.method for each in report.studied))
    told = f"Data sets: {names} · methods: {methods} · {report.generated_at}"
    without = ", ".join(n for n in report.names if not report.of(n)[0].figures.validation)
    missing = f"{MRR}, validation: not computed, because {without} has no pairs in a part “valid”."
    return Document(
        kind="Study",
        title="KAPE: estimated and true scores",
        lead=[Paragraph(told)],
        sections=[
            Section("summary", "What was found", [summary_table(report), _HALVES]),
            Section("data", "Data and truth",
                    [truth_table(report), _OVERLAP, *([missing] if without else [])]),
            Section("budgets", "Estimates by budget", [budgets_table(report), _BUDGETS]),
            Section("neighbours", "Number of neighbours and weightings",
                    [neighbours_table(report), _WEIGHTINGS]),
        ],
    )  # fmt: skip
