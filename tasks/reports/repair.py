"""The repair of a benchmark: the labels that agents doubt or add, and what that does to methods."""

from collections.abc import Iterator, Sequence

from infra.records import Annotation, Record, Support
from infra.summaries import GoldCounts
from tasks.reports.circularity import kendall_tau
from tasks.reports.diff import ScoreChange, score_blocks
from tasks.reports.document import (
    Block,
    Code,
    Document,
    Items,
    KeyValues,
    Paragraph,
    Section,
    Table,
)
from tasks.reports.leaderboard import Leaderboard
from tasks.reports.leaderboard_page import score_table
from tasks.reports.text import counted, format_rate, format_words
from tasks.statistics.intervals import wilson_interval

CHANGES = "changes.jsonl"
_SHOWN = 50
_LINES = 12
_ABOUT = (
    "Shares have Wilson's 95% interval, for benchmarks made as this one was; the judge's own "
    "mistakes are not in it. What is graded right is judged first, then what several methods "
    "return, then the rest, each by queries in an order by chance: the share of doubted ones "
    "stands for all, wherever a budget ended."
)
_LETTERS = (
    "Letters after a mean name the methods that score significantly lower: paired randomisation "
    "test, p < 0.05 after Holm's correction for all pairs."
)


class LabelChange(Record):
    """A label that a repair changed or added, with what it rests on.

    Attributes:
        query_id: As the benchmark has it, like ``code_id``.
        methods: Those that return the code among their first results; none of a doubted positive.
        old: The benchmark's grade; None of a pair without one.
        new: The grade in the next version.
        support: What the new grade rests on.
        origin: The recipe that gave it, as in the next version.
        evidence: The agents' annotations, with every reply and program; ids are the store's.
    """

    query_id: str
    code_id: str
    query: str
    code: str
    methods: tuple[str, ...]
    old: float | None
    new: float
    support: Support
    origin: str
    evidence: tuple[Annotation, ...]


class RepairFigures(Record):
    """The figures of a repair.

    Attributes:
        benchmark: The name of what was repaired.
        version: The name of the next version.
        licence: Under which both are.
        judge: The model and the configuration that judged.
        depth: How many first results of a method are judged.
        positives: Pairs that the benchmark grades above 0.
        judged: Of these, those that agents gave a label.
        doubted: Of the judged ones, those with the label 0.
        unjudged: Pairs among the first results of a method that have no grade.
        answered: Of these, those that agents gave a label.
        found: Of the answered ones, those with the label 1.
        gold: How the judge labelled pairs whose label is known.
        before: The methods by the benchmark's grades.
        after: The methods by those of the next version.
    """

    benchmark: str
    version: str
    licence: str
    judge: str
    depth: int
    positives: int
    judged: int
    doubted: int
    unjudged: int
    answered: int
    found: int
    gold: GoldCounts = GoldCounts()
    before: Leaderboard
    after: Leaderboard

    @property
    def tau(self) -> float | None:
        """Kendall's tau of the methods' order before and after."""
        metric = self.before.metrics[0]
        later = {row.method: row.cells[metric].mean for row in self.after.rows}
        first = [row.cells[metric].mean for row in self.before.rows]
        return kendall_tau(first, [later[row.method] for row in self.before.rows])


def repair_summary(figures: RepairFigures) -> dict[str, str]:
    """Return the main figures of a repair for a maintainer, by name."""
    tau = figures.tau
    return {
        "positives doubted": _share(figures.doubted, figures.judged),
        "right codes without a grade": _share(figures.found, figures.answered),
        "pairs of the pool judged": format_rate(
            figures.judged + figures.answered, figures.positives + figures.unjudged
        ),
        "Kendall's τ of the methods' order": "undefined" if tau is None else f"{tau:.3f}",
        "differences that are sure": (
            f"{_sure(figures.before)} before, {_sure(figures.after)} after"
        ),
    }


def places_table(figures: RepairFigures) -> Table:
    """Return each method's place and score before and after, in the order of before."""
    metric = figures.before.metrics[0]
    after = {row.method: (place, row) for place, row in enumerate(figures.after.rows, 1)}
    rows = []
    for place, row in enumerate(figures.before.rows, 1):
        now, later = after[row.method]
        first, second = row.cells[metric].mean, later.cells[metric].mean
        rows.append((row.method, f"{place}", f"{now}", f"{first:.3f}", f"{second:.3f}"))
    header = ("method", "place before", "after", f"{metric} before", "after")
    return Table(header, rows)


def repair_document(
    figures: RepairFigures, changes: Sequence[LabelChange], scores: Sequence[ScoreChange]
) -> Document:
    """Return the page of a repair."""
    return Document(
        kind="Repair",
        title=f"{figures.benchmark} → {figures.version}",
        lead=[
            KeyValues(repair_summary(figures), large=True),
            f"{_ABOUT} {_gold_sentence(figures.gold)}",
        ],
        sections=[
            Section("places", "Places before and after", [places_table(figures)]),
            Section(
                "methods",
                "Methods before and after",
                [
                    score_table(figures.before, "Before"),
                    score_table(figures.after, "After"),
                    _LETTERS,
                    *score_blocks(scores),
                ],
            ),
            Section("labels", "Labels that changed or are new", list(_shown(changes))),
            Section("maintainers", "For the maintainers", _maintainers(figures, changes)),
        ],
    )


def maintainers_text(figures: RepairFigures, changes: Sequence[LabelChange]) -> Document:
    """Return a text for a benchmark's maintainers: findings, method, certainty, evidence."""
    title = f"Labels of {figures.benchmark} that look wrong or are missing"
    return Document(title=title, lead=_maintainers(figures, changes))


def _maintainers(figures: RepairFigures, changes: Sequence[LabelChange]) -> list[Block]:
    runs = sum(change.support == "valid_oracle" for change in changes)
    new = sum(change.old is None for change in changes)
    return [
        Paragraph(
            f"What: of {counted(figures.judged, 'pairs')} of {figures.benchmark} that are graded "
            f"right and were read again, {_share(figures.doubted, figures.judged)} are doubted. Of "
            f"{counted(figures.answered, 'pairs')} without a grade that a method returns among its "
            f"first {figures.depth}, {_share(figures.found, figures.answered)} are right."
        ),
        Paragraph(
            f"How: {figures.judge} judged each pair by itself, without its grade. "
            f"{runs:,} of {counted(len(changes), 'labels')} that differ rest on a test program "
            "that ran in a box and passed checks of its validity; the others on reading."
        ),
        Paragraph(
            f"How sure: shares have a 95% interval. {_gold_sentence(figures.gold)} Pairs that are "
            "not judged, or that agents left undecided, keep their grades."
        ),
        Paragraph(
            f"How to see it: {CHANGES} has a line for each label that changed "
            f"({len(changes) - new:,}) or is new ({new:,}): old and new grade, "
            "what the new one rests on, and every reply and program. "
            f"The next version, {figures.version}, is under the same licence "
            f"({figures.licence}); all ids are yours, and your files are as they were."
        ),
    ]


def _gold_sentence(gold: GoldCounts) -> str:
    if not gold.asked:
        return "The judge was asked no pair whose label is known."
    asked = counted(gold.asked, "pairs")
    return f"Of {asked} with known labels the judge labelled {gold.wrong:,} wrongly."


def _share(part: int, whole: int) -> str:
    found = wilson_interval(part, whole)
    interval = f" [{found.low:.1%}, {found.high:.1%}]" * bool(whole)
    return f"{format_rate(part, whole)}{interval}"


def _sure(board: Leaderboard) -> str:
    metric, methods = board.metrics[0], len(board.rows)
    sure = sum(len(row.cells[metric].surpasses.split()) for row in board.rows)
    return f"{sure:,} of {methods * (methods - 1) // 2:,}"


def _shown(changes: Sequence[LabelChange]) -> Iterator[Block]:
    """Yield the first changes with their code and reasons, doubted positives first."""
    for change in changes[:_SHOWN]:
        old = "no grade" if change.old is None else f"{change.old:g}"
        yield Paragraph(f"{old} → {change.new:g}: {change.query}", "h3")
        yield Code("\n".join(change.code.splitlines()[:_LINES]))
        yield Items(
            [
                *(f"{format_words(one.path)}: {one.reason}" for one in change.evidence),
                f"rests on: {format_words(change.support)}",
                f"query {change.query_id}, code {change.code_id}"
                + f", found by {', '.join(change.methods)}" * bool(change.methods),
            ]
        )
    if (more := len(changes) - _SHOWN) > 0:
        yield f"{more:,} more: {CHANGES} has them."
    if not changes:
        yield "None."
