"""The report of the KAPE study: the tables of the paper over our own data, and the paper's."""

from collections.abc import Sequence
from math import isnan
from textwrap import shorten

import numpy as np
from scipy.stats import kendalltau

from infra.records import Record
from tasks.estimation.study import PartFigures, StudiedMethod
from tasks.estimators import estimators
from tasks.estimators.kape import WEIGHTINGS
from tasks.reports import kape_paper as paper
from tasks.reports.document import Block, Details, Document, Paragraph, Section, Table
from tasks.reports.figures import Curve, curves_figure
from tasks.reports.kape_paper import MRR, score
from tasks.reports.text import NONE, counted

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
_ESTIMATORS = (
    "Labour is people's, who label what is selected; a stable estimator gives the same estimate at "
    "each seed."
)
_ORDER = (
    "The methods from the best to the worst, by KAPE with 5 neighbours and by the truth; Kendall's "
    "tau-b is 1 where both have one order, -1 where one is the other's reverse."
)
_NEAREST = (
    "At most ten test queries, evenly spaced. The reciprocal rank is that of the query's code "
    "among all test codes; of the nearest training query that of its code among those of all the "
    "nearest. Where similar queries have similar ranks, KAPE's estimate is near the truth."
)
_SIMILARITIES = (
    "Queries of each half in twenty steps of their cosine. In the paper most queries of PHP and Go "
    "are at .8 to 1, those of Ruby go down to .5."
)
_LONGEST = 200  # characters of a query
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
            cells = (score(truth), score(estimate), score(abs(estimate - truth)))
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
        rows.append((_place(each), *counts, *map(score, scores)))
    return Table(
        caption="Data sets, and the truth: means over the queries, each ranked among all codes",
        header=("data set, method", "training pairs", "validation pairs", "test pairs",
                "test queries in training",
                "test pairs in training", "left out, no pair", f"{MRR}, validation", *measures),
        rows=rows,
    )  # fmt: skip


def estimators_table() -> Table:
    """Return the facts of each estimator (Table 3)."""
    every = {name: estimators.get(name) for name in estimators}
    facts = {name: (each.uses_labels, each.is_stable) for name, each in every.items()}
    return paper.estimator_table("Estimators", facts)


def order_table(report: KapeReport) -> Table:
    """Return the order of the methods by KAPE and by the truth (section 5.5)."""
    rows = []
    for name in report.names:
        wholes = {each.method: each.figures.whole for each in report.of(name)}
        if len(wholes) < 2:
            continue
        estimates = {method: each.kape_estimate(DEFAULT_K, MRR) for method, each in wholes.items()}
        truth = {method: each.truth[MRR] for method, each in wholes.items()}
        orders = [sorted(by, key=by.__getitem__, reverse=True) for by in (estimates, truth)]
        tau = float(kendalltau(list(estimates.values()), list(truth.values())).statistic)
        is_same = "yes" if orders[0] == orders[1] else "no"
        rows.append(
            (
                name,
                *(" > ".join(each) for each in orders),
                is_same,
                score(None if isnan(tau) else tau),
            )
        )
    header = ("data set", "by KAPE", "by the truth", "the same", "tau")
    return Table(
        header, rows, text_columns=4, caption=f"Order of the methods by {MRR}",
        empty="One method has no order: give a second --encoder.",
    )  # fmt: skip


def budget_figures(report: KapeReport, parts: Sequence[str]) -> list[Block]:
    """Return the estimates of each method by budget, drawn (Figures 4 and 6)."""
    found: list[Block] = []
    for each in report.studied:
        for part in each.figures.parts:
            if part.part in parts:
                bands = {r.estimator: r.deviations[MRR] for r in part.rivals if not r.is_stable}
                queries, number = f"the {part.part} half", 6
                if part.part == "all":
                    queries, number = "all queries", 4
                about = f"{_place(each)}, {queries} (as KAPE's Figure {number})"
                named = ((name.removeprefix(": "), v) for name, v in _by_budget("", part))
                rows = [(name, v) for name, v in named if not name.endswith(", deviation")]
                found += paper.budget_figure(about, rows, bands)
    return found


def similarity_figures(report: KapeReport) -> list[Block]:
    """Return the similarity of each half's queries to training queries (Figure 5)."""
    found: list[Block] = []
    for each in report.studied:
        curves = [
            Curve(
                part.part,
                tuple(
                    ((place + 0.5) / len(part.similarities), number / part.queries)
                    for place, number in enumerate(part.similarities)
                ),
            )
            for part in each.figures.parts[1:]
        ]
        if curves:
            about = f"{_place(each)} (as KAPE's Figure 5)"
            title = "cosine with the nearest training query"
            found += [about, curves_figure(title, "share of the half", curves, about)]
    return found


def used_figures(report: KapeReport) -> list[Block]:
    """Return the shares of queries by the neighbours used of ten, drawn (Figure 8)."""
    found: list[Block] = []
    for each in report.studied:
        about = f"{_place(each)} (as KAPE's Figure 8)"
        found += [about, paper.used_figure(each.figures.used)]
    return found


def budgets_table(report: KapeReport) -> Table:
    """Return all estimators' estimates at all budgets (Table 4)."""
    caption = f"{MRR} by per cent of the test queries that are labelled"
    rows = [row for each in report.studied for row in _by_budget(_place(each), each.figures.whole)]
    return paper.budget_table(caption, rows)


def halves_tables(report: KapeReport) -> list[Table]:
    """Return the same for the similar and the different half of the queries (Figure 6)."""
    return [
        paper.budget_table(
            f"{MRR} of the {half.part} half, {counted(half.queries, 'queries')}, of {_place(each)}",
            _by_budget(half.part, half),
        )
        for each in report.studied
        for half in each.figures.parts[1:]
    ]


def _by_budget(place: str, part: PartFigures) -> list[tuple[str, Sequence[float]]]:
    """Return the truth and each estimator's estimates of a part of the queries."""
    rows: list[tuple[str, Sequence[float]]] = [(f"{place}: truth", [part.truth[MRR]])]
    rows += [(f"{place}: kape, k = {k}", [part.kape_estimate(k, MRR)]) for k in _SHOWN_KS]
    for rival in part.rivals:
        rows.append((f"{place}: {rival.estimator}", rival.means[MRR]))
        if not rival.is_stable:
            rows.append((f"{place}: {rival.estimator}, deviation", rival.deviations[MRR]))
    return rows


def used_table(report: KapeReport) -> Table:
    """Return the share of queries by the number of neighbours that KAPE uses of ten."""
    numbers = sorted({n for each in report.studied for n in each.figures.used}, reverse=True)
    rows = []
    for each in report.studied:
        shares = (each.figures.used.get(n, 0) / each.figures.queries for n in numbers)
        rows.append((_place(each), *(f"{share:.3f}" for share in shares)))
    caption = "Share of the test queries by the neighbours that KAPE uses of ten"
    return Table(("data set, method", *map(str, numbers)), rows, caption=caption)


def nearest_table(report: KapeReport) -> Table:
    """Return test queries beside their nearest training queries (Table 1)."""
    rows = []
    for each in report.studied:
        for texts, pair in zip(each.nearest, each.figures.nearest, strict=True):
            shown = (shorten(text, _LONGEST, placeholder=" …") for text in texts)
            figures = (1 / pair.rank, 1 / pair.nearest_rank, pair.similarity)
            rows.append((_place(each), *shown, *map(score, figures)))
    equal = (f"{_place(each)} {each.figures.equal_ranks:.2f}" for each in report.studied)
    return Table(
        caption=f"Share of all test queries with the rank of their nearest: {', '.join(equal)}",
        header=("data set, method", "test query", "nearest training query", *paper.NEAREST),
        rows=rows,
        text_columns=3,
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
            rows.append((f"{place}{about}", *map(score, figures)))
        used = (f"{n.minimum} / {n.mean:.2f}" for n in each.figures.neighbours)
        rows.append((f"{place}: neighbours used, fewest / mean", *[NONE] * 3, *used, NONE, NONE))
    return Table(paper.K_HEADER, rows, caption=f"KAPE's {MRR} by its number of neighbours k")


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
            Section("summary", "What was found",
                    [summary_table(report), _HALVES, order_table(report), _ORDER]),
            Section("data", "Data and truth",
                    [truth_table(report), _OVERLAP, *([missing] if without else [])]),
            Section("budgets", "Estimates by budget",
                    [*budget_figures(report, ["all"]), budgets_table(report), _BUDGETS,
                     estimators_table(), _ESTIMATORS]),
            Section("halves", "Estimates for similar and for different queries",
                    [*similarity_figures(report), _SIMILARITIES,
                     *budget_figures(report, ["similar", "different"]), *halves_tables(report)]),
            Section("neighbours", "Number of neighbours and weightings",
                    [neighbours_table(report), _WEIGHTINGS, *used_figures(report),
                     used_table(report)]),
            Section("nearest", "Queries and their nearest training queries",
                    [nearest_table(report), _NEAREST]),
            Section("paper", "The paper's tables",
                    [*paper.drawn(),
                     Details("Tables 1 to 8, and the human evaluation", paper.paper_tables())]),
        ],
    )  # fmt: skip
