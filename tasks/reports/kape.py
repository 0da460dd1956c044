"""The report of the KAPE study: the paper's Tables 1 to 7 and Figure 4, and ours."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from infra.records import Record
from tasks.estimation.study_figures import (
    BUDGETS,
    PartFigures,
    RivalFigures,
    StudiedMethod,
)
from tasks.estimators.kape import KAPE, WEIGHTINGS
from tasks.reports import kape_paper as paper
from tasks.reports.charts import FIFTHS, STYLES, TRUTH, Line, Points, lines
from tasks.reports.document import (
    Beside,
    Block,
    Chart,
    Details,
    Document,
    Key,
    Paragraph,
    Section,
    Table,
)
from tasks.reports.kape_paper import KS, MRR, score
from tasks.reports.text import NONE
from tasks.statistics.agreement import kendall_tau

DEFAULT_K = 5
_SHOWN_KS = (1, DEFAULT_K)  # as the paper shows them
_SHOWN_BUDGETS = (1, 10, 20, 30, 40, 50)
_TOO_FEW = "Not computed: there are too few test queries."
_NARROW = 420  # width of charts that stand side by side

Used = TypeVar("Used")


class Selection(Record):
    """How KAPE orders the methods on one data set, and how the truth does.

    Attributes:
        name: Of the data set.
        measure: What both orders are by.
        by_kape: The methods, highest estimate first.
        by_truth: The methods, highest truth first.
        tau: Kendall's tau-b of estimates and truth; None where all of one are equal.
    """

    name: str
    measure: str
    by_kape: tuple[str, ...]
    by_truth: tuple[str, ...]
    tau: float | None


class KapeReport(Record):
    """The report.

    Attributes:
        generated_at: When it was made.
        studied: Each method on each data set.
        selections: For each data set with two methods or more.
    """

    generated_at: str
    studied: tuple[StudiedMethod, ...]
    selections: tuple[Selection, ...]

    @property
    def names(self) -> list[str]:
        """The data sets."""
        return list(dict.fromkeys(each.name for each in self.studied))

    def of(self, name: str) -> list[StudiedMethod]:
        """Return what was studied on a data set."""
        return [each for each in self.studied if each.name == name]


def build_kape_report(studied: Sequence[StudiedMethod], generated_at: str) -> KapeReport:
    """Return the report on methods that were studied, in the order given."""
    report = KapeReport(generated_at=generated_at, studied=tuple(studied), selections=())
    selections = [
        _selection(name, report.of(name), measure)
        for name in report.names
        if len(report.of(name)) > 1
        for measure in report.of(name)[0].figures.whole.truth
    ]
    return report.model_copy(update={"selections": tuple(selections)})


def _selection(name: str, studied: Sequence[StudiedMethod], measure: str) -> Selection:
    wholes = {each.method: each.figures.whole for each in studied}
    estimates = {method: each.kape_estimate(DEFAULT_K, measure) for method, each in wholes.items()}
    truth = {method: each.truth[measure] for method, each in wholes.items()}
    return Selection(
        name=name,
        measure=measure,
        by_kape=tuple(sorted(estimates, key=lambda method: -estimates[method])),
        by_truth=tuple(sorted(truth, key=lambda method: -truth[method])),
        tau=kendall_tau(list(estimates.values()), list(truth.values())),
    )


def _place(studied: StudiedMethod) -> str:
    """Return data set and method."""
    return f"{studied.name}, {studied.method}"


def summary_table(report: KapeReport) -> Table:
    """Return truth and estimates without labels."""
    rows = []
    for each in report.studied:
        truth = each.figures.whole.truth[MRR]
        for name, estimate in _without_labels(each.figures.whole):
            cells = (score(truth), score(estimate), score(abs(estimate - truth)))
            rows.append((_place(each), name, *cells))
    return Table(
        caption="MRR without labels; error: |estimate - truth|",
        header=("data set, method", "estimator", "truth", "estimate", "error"),
        rows=rows,
        text_columns=2,
    )


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
        both = studied.overlap
        figures, left_out = studied.figures, sum(studied.left_out.values())
        sizes = (figures.training, figures.validation, figures.queries, both.queries, both.pairs)
        rows.append((name, *(f"{number:,}" for number in (*sizes, left_out))))
    return Table(
        caption="Data sets",
        header=("data set", *paper.PAIRS, "test queries in training",
                "test pairs in training", "left out, no pair"),
        rows=rows,
    )  # fmt: skip


def truth_table(report: KapeReport) -> Table:
    """Return the truth of all measures (Table 2), the MRR of the validation pairs first."""
    measures = tuple(report.studied[0].figures.whole.truth) if report.studied else ()
    return Table(
        caption="Truth: means over the queries, each ranked among all codes of its set",
        header=("data set, method", f"{MRR}, validation", *measures),
        rows=tuple(
            (_place(each), *map(score, (each.figures.validation_truth.get(MRR), *truth.values())))
            for each in report.studied
            for truth in [each.figures.whole.truth]
        ),
    )


def table3(report: KapeReport) -> Table:
    """Return the facts of the estimators (Table 3)."""
    rivals = report.studied[0].figures.whole.rivals if report.studied else ()
    facts = {each.estimator: (each.uses_labels, each.is_stable) for each in rivals}
    facts["kape"] = (KAPE.uses_labels, KAPE.is_stable)
    return Table(
        caption="Estimators",
        header=("estimator", "chooses among", "as many as", "needs labels", "same for every seed"),
        rows=tuple(
            (
                name,
                *(("test queries", "the budget") if uses else ("training pairs", "test queries")),
                *("yes" if fact else "no" for fact in (uses, stable)),
            )
            for name, (uses, stable) in facts.items()
        ),
        text_columns=5,
    )


def table1(studied: StudiedMethod) -> Table:
    """Return reciprocal ranks of test queries and of their nearest training queries (Table 1)."""
    rows = [
        (f"{n}", score(1 / each.rank), score(1 / each.nearest_rank), score(each.similarity))
        for n, each in enumerate(studied.figures.nearest, 1)
    ]
    equal = f"{studied.figures.equal_ranks:.0%} of all queries have equal ones"
    return Table(
        caption=f"{_place(studied)}: reciprocal ranks of test query and nearest training query; "
        f"{equal}",
        header=("test query", "its own", "nearest training query's", "similarity"),
        rows=rows,
    )


def table4(studied: StudiedMethod) -> Table:
    """Return all estimators' estimates at all budgets (Table 4)."""
    whole, rows = studied.figures.whole, list[tuple[str, Sequence[float]]]()
    for rival in whole.rivals:
        rows.append((rival.estimator, rival.means[MRR]))
        if not rival.is_stable:
            rows.append((f"{rival.estimator}, deviation", rival.deviations[MRR]))
    rows += [(f"kape, k = {k}", [whole.kape_estimate(k, MRR)]) for k in _SHOWN_KS]
    caption = f"{_place(studied)}: {MRR}, truth {score(whole.truth[MRR])}"
    return paper.budget_table(caption, rows)


def table5(report: KapeReport) -> Table:
    """Return KAPE's estimates for all k, with their mean and population deviation (Table 5)."""
    rows = []
    for each in report.studied:
        whole = each.figures.whole
        values = [whole.kape_estimate(k, MRR) for k in KS]
        spread = (float(np.mean(values)), float(np.std(values)))
        rows.append((_place(each), (whole.truth[MRR], *values, *spread)))
    return paper.k_table(f"KAPE's {MRR} by its number of neighbours k", rows)


def table6(report: KapeReport) -> Table:
    """Return the fewest and the mean number of neighbours used (Table 6)."""
    rows = [
        (name, [n.minimum for n in used], [n.mean for n in used])
        for each in report.studied
        for name, used in _readings(each, each.figures.neighbours,
                                    each.figures.neighbours_as_printed)
    ]  # fmt: skip
    return paper.neighbours_table("Neighbours used, fewest and mean, by k", rows)


def used_table(report: KapeReport) -> Table:
    """Return how many test queries use so many neighbours at k = 10."""
    rows = [
        row
        for each in report.studied
        for row in _readings(each, each.figures.used, each.figures.used_as_printed)
    ]
    return paper.used_table("Test queries by the number of neighbours used, k = 10", rows)


def _readings(studied: StudiedMethod, ours: Used, printed: Used) -> Iterator[tuple[str, Used]]:
    """Yield what KAPE uses, and what equation 3 does as printed, each with its row's name."""
    yield _place(studied), ours
    yield f"{_place(studied)}, as printed", printed


def table7(studied: StudiedMethod) -> Table:
    """Return the estimates of the four weightings (Table 7)."""
    whole = studied.figures.whole
    caption = f"{_place(studied)}: {MRR}, truth {score(whole.truth[MRR])}"
    return paper.weighting_table(caption, [(name, whole.kape[name][MRR]) for name in WEIGHTINGS])


def half_table(report: KapeReport) -> Table:
    """Return truth, KAPE and its error on each half (research question 3)."""
    rows = []
    for each in report.studied:
        for part in each.figures.parts[1:]:
            truth, found = part.truth[MRR], part.kape_estimate(DEFAULT_K, MRR)
            cells = (score(truth), score(found), score(abs(found - truth)))
            rows.append((_place(each), part.part, f"{part.queries:,}", *cells))
    return Table(
        caption=f"{MRR} by similarity to the nearest training query, k = {DEFAULT_K}",
        header=("data set, method", "half", "queries", "truth", "KAPE", "error"),
        rows=rows,
        text_columns=2,
        empty=_TOO_FEW,
    )


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


def kape_document(report: KapeReport) -> Document:
    """Return the report as a document."""
    names = ", ".join(report.names)
    methods = ", ".join(dict.fromkeys(each.method for each in report.studied))
    told = f"Data sets: {names} · methods: {methods} · {report.generated_at}"
    return Document(
        kind="Study",
        title="KAPE: estimated and true scores",
        lead=[Paragraph(told)],
        sections=[
            Section("summary", "What was found", [summary_table(report)]),
            Section("data", "Data and truth", list(_data(report))),
            Section("budgets", "Estimates by budget", list(_budgets(report))),
            Section("neighbours", "Number of neighbours", list(_neighbours(report))),
            Section("weightings", "Weightings", list(_weightings(report))),
            Section("halves", "Similar and different queries", list(_halves(report))),
            *_selections(report),
        ],
    )


def _data(report: KapeReport) -> Iterator[Block]:
    yield data_table(report)
    yield (
        "A test query that is in the training set too has itself as nearest neighbour, which makes "
        "estimates from the training set look better than they are for new queries."
    )
    yield truth_table(report)
    without = ", ".join(n for n in report.names if not report.of(n)[0].figures.validation)
    if without:
        yield f"{MRR}, validation: not computed, because {without} has no pairs in a part “valid”."
    yield _published(2)
    yield table3(report)
    yield "The paper's Table 3."
    yield from map(table1, report.studied)
    yield (
        "Ten test queries, evenly over the file, each ranked among all test codes; the nearest "
        "training query among the codes of all the nearest. The paper's Table 1 (Ruby, "
        "GraphCodeBERT): equal for 7 of 10 queries, at similarities of .81 to .99."
    )


def _published(number: int) -> Details:
    return Details(f"The paper's Table {number}", paper.published()[number])


def _budgets(report: KapeReport) -> Iterator[Block]:
    told = (
        "Each estimator may have so many per cent of the test queries labelled, and ranks their "
        "codes among themselves. The paper's Figure 4 and Table 4."
    )
    yield Paragraph(told)
    yield _key(report)
    yield Beside([_estimate_chart(each) for each in report.studied])
    yield "Bands: one deviation over three seeds, of the estimators that chance has a part in."
    yield from map(table4, report.studied)
    yield _published(4)


def _neighbours(report: KapeReport) -> Iterator[Block]:
    yield table5(report)
    yield _published(5)
    yield table6(report)
    yield used_table(report)
    yield (
        "The far neighbours are left out, more than one deviation below the mean similarity; “as "
        "printed” is equation 3 to the letter (kape-printed), which leaves out the nearest ones. "
        "The paper's Table 6 agrees with the first."
    )
    yield _published(6)


def _weightings(report: KapeReport) -> Iterator[Block]:
    told = (
        "“fixed” keeps all k neighbours, “adaptive” those whose similarity is at most one "
        "deviation below the query's mean; “equal” gives the kept ones one weight, “similarity” a "
        "weight by cosine. KAPE is adaptive-similarity. The paper's Table 7."
    )
    yield Paragraph(told)
    yield from map(table7, report.studied)
    yield _published(7)


def _halves(report: KapeReport) -> Iterator[Block]:
    yield half_table(report)
    yield (
        "The test queries are halved at the median of the similarity to their nearest training "
        "query; each half's codes are ranked among themselves. The paper's research question 3, on "
        "PHP: off by .0118 (RoBERTa), .0079 (CodeBERT) and .0112 (GraphCodeBERT) on the similar "
        "half, by up to .0660 on the different one."
    )


def _selections(report: KapeReport) -> Iterator[Section]:
    if report.selections:
        told = "Kendall's tau-b of estimates and truth: 1 where both order the methods alike."
        blocks: list[Block] = [selection_table(report), told]
        yield Section("selection", "Choice of a method", blocks)


def _styles(part: PartFigures) -> dict[str, str]:
    """Return estimator → style: KAPE's are last and first, the rivals' between in their order."""
    others = STYLES[1:-1]
    rivals = {each.estimator: others[n % len(others)] for n, each in enumerate(part.rivals)}
    ours = zip(_SHOWN_KS, (STYLES[-1], STYLES[0]), strict=True)
    return {f"kape, k = {k}": style for k, style in ours} | rivals


def _key(report: KapeReport) -> Key:
    return Key(_styles(report.studied[0].figures.whole) | {"truth": TRUTH})


def _estimate_chart(studied: StudiedMethod) -> Chart:
    """Return all estimators' estimates of the MRR."""
    whole = studied.figures.whole
    truth, styles = whole.truth[MRR], _styles(whole)
    drawn = [
        *(_curve(rival, styles[rival.estimator]) for rival in whole.rivals),
        *(_kape_line(whole, k, styles[f"kape, k = {k}"]) for k in _SHOWN_KS),
        Line(_over_budgets([truth]), f"truth {truth:.4f}", TRUTH),
    ]
    name = _place(studied)
    across = [(budget, f"{budget}%") for budget in _SHOWN_BUDGETS]
    svg = lines(f"Estimated MRR by budget, {name}", drawn, across, FIFTHS, width=_NARROW)
    return Chart(name, svg, f"truth {truth:.4f}")


def _kape_line(part: PartFigures, k: int, style: str) -> Line:
    estimate = part.kape_estimate(k, MRR)
    told = f"kape, k = {k}: {estimate:.4f} without labels"
    return Line(_over_budgets([estimate]), told, style)


def _curve(rival: RivalFigures, style: str) -> Line:
    means, deviations = rival.means[MRR], rival.deviations[MRR]
    told = f"{rival.estimator}: {means[0]:.4f} without labels"
    if len(means) > 1:
        ends = f"{means[0]:.4f} at {BUDGETS[0]}%, {means[-1]:.4f} at {BUDGETS[-1]}%"
        told = f"{rival.estimator}: {ends}"
    band: Points = ()
    if not rival.is_stable:
        both = list(zip(means, deviations, strict=True))
        upper = _over_budgets([mean + deviation for mean, deviation in both])
        band = [*upper, *reversed(_over_budgets([mean - deviation for mean, deviation in both]))]
    return Line(_over_budgets(means), told, style, band)


def _over_budgets(values: Sequence[float]) -> list[tuple[float, float]]:
    """Return the values at all budgets; a single one needs no labels, and is the same at all."""
    at_all = list(values) * len(BUDGETS) if len(values) == 1 else values
    return list(zip(BUDGETS, at_all, strict=True))
