"""The report of a study: our figures next to the published ones."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from infra.errors import SourceError, StudyError
from infra.records import Record
from tasks.reports.document import Block, Document, Items, Paragraph, Section, Span, Table, Text
from tasks.reports.figures import Dot, columns_figure, dots_figure
from tasks.reports.text import NONE, UNKNOWN
from tasks.statistics.intervals import Interval
from tasks.studies import Evidence, PublishedFigure, paper_data, studies, study_text
from tasks.studies import Figure as StudiedFigure

# Study → the column of its figures that is drawn, and on which scale, where it is no count.
_DRAWN: Mapping[str, tuple[str, tuple[float, float] | None]] = {
    "rounds": ("Krippendorff's alpha", (-1.0, 1.0)),
    "annotators": ("alpha with humans", (-1.0, 1.0)),
    "retrieval": ("NDCG@10", (0.0, 1.0)),
    "cost": ("seconds of a pair", None),
}
_COUNTED = {
    "matches-by-rank": "share",
    "matches-of-queries": "queries",
    "queries-of-codes": "codes",
}
_NUMBER = re.compile(r"\d+\+?")
_HEADER = ("figure", "ours", "published", "difference", "n", "published in")
_SMALL = 0.01


class Line(Record):
    """A figure of ours, a published one, or both side by side.

    Attributes:
        row: Our name of the row; the paper's where we have no figure.
        published_row: The paper's name of it where it is another one, else empty.
        ours: None where it is unknown or not computed.
        interval: Our figure's 95% interval, where it has one.
        published: None where the papers print none.
        n: The number of items that ours is taken over.
        source: Paper and place of the published figure.
        note: A remark on either.
        digits: Digits after the point; 0 leaves them to `number`.
    """

    row: str
    column: str
    published_row: str = ""
    ours: int | float | None = None
    interval: Interval | None = None
    published: int | float | None = None
    n: int | None = None
    source: str = ""
    note: str = ""
    digits: int = 0

    @property
    def difference(self) -> int | float | None:
        """Ours less the published figure."""
        if self.ours is None or self.published is None:
            return None
        return self.ours - self.published

    def next_to(self, other: PublishedFigure, differs: str) -> "Line":
        """Return our line with a published figure, and how our row differs from the paper's."""
        notes = (self.note, differs, other.note)
        update = {
            "published_row": "" if other.row == self.row else other.row,
            "published": other.value,
            "source": other.source,
            "note": "; ".join(filter(None, notes)),
        }
        return self.model_copy(update=update)


class StudySection(Record):
    """A table or figure of the papers.

    Attributes:
        study: The study's name; empty where only another command computes it.
        command: The command that computes it.
        problem: Why it is not computed; empty where it is.
    """

    study: str
    title: str
    reading: str
    command: str
    problem: str
    lines: tuple[Line, ...]


class StudyReport(Record):
    """All studies of one run.

    Attributes:
        conditions: Name of a condition → its value in this run.
    """

    title: str
    generated_at: str
    conditions: dict[str, str]
    sections: tuple[StudySection, ...]


def build_report(evidence: Evidence, title: str, generated_at: str) -> StudyReport:
    """Return the report on all registered studies, then on what other commands compute."""
    registered = studies.names()
    names = dict.fromkeys([*paper_data().studies, *registered])
    sections = []
    for name in sorted(names, key=lambda name: name not in registered):
        text = study_text(name)
        figures: Sequence[StudiedFigure] = ()
        problem = f"these are figures of another command: {text.command}"
        if name in registered:
            try:
                figures = studies.get(name)(evidence)
                problem = "" if figures else "there is nothing to compute it from"
            except (StudyError, SourceError) as error:
                problem = str(error)
        theirs = [figure for figure in paper_data().figures if figure.study == name]
        section = StudySection(
            study=name if name in registered else "",
            **text.model_dump(),
            problem=problem,
            lines=tuple(_lines(figures, theirs)),
        )
        sections.append(section)
    return StudyReport(
        title=title,
        generated_at=generated_at,
        conditions=dict(evidence.conditions),
        sections=tuple(sections),
    )


def _lines(figures: Sequence[StudiedFigure], theirs: Sequence[PublishedFigure]) -> Iterator[Line]:
    """Yield a line for each of our figures and its published ones, then those without ours."""
    by_name: dict[tuple[str, str], list[PublishedFigure]] = {}
    for other in theirs:
        by_name.setdefault((other.row, other.column), []).append(other)
    met: set[tuple[str, str]] = set()
    for figure in figures:
        row, differs = paper_data().name_of(figure.row)
        met.add((row, figure.column))
        line = Line(
            row=figure.row, column=figure.column, ours=figure.value, n=figure.n, note=figure.note
        )
        others = by_name.get((row, figure.column), [])
        yield from [line.next_to(other, differs) for other in others] or [line]
    for key, others in by_name.items():
        if key not in met:
            yield from (
                Line(
                    row=other.row, column=other.column, published=other.value,
                    source=other.source, note=other.note,
                )
                for other in others
            )  # fmt: skip


def number(line: Line, value: float | None, *, sign: bool = False) -> str:
    """Return a value in the form of its line, a dash for None.

    Where the line names no digits, counts are whole, others have three digits, or five if all are
    small. With ``sign`` a plus stands before a value above 0.
    """
    if value is None:
        return NONE
    shown = [each for each in (line.ours, line.published) if each is not None]
    digits = line.digits
    if not digits and not all(isinstance(each, int) for each in shown):
        digits = 5 if all(abs(each) < _SMALL for each in shown) and any(shown) else 3
    plus = "+" if sign and value else ""
    return f"{value:{plus},.{digits}f}"


def lines_table(lines: Sequence[Line], caption: str = "", elsewhere: Collection[str] = ()) -> Table:
    """Return a row for each line: its name with the column's where there are several, its figures.

    Beneath the name stands the line's note, with the paper's name of the row where it is another.
    There is no difference from papers whose corpus is another (``elsewhere``), and no column of
    which nothing is known.
    """
    has_one_column = len({line.column for line in lines}) == 1
    rows: list[tuple[Text, ...]] = []
    for line in lines:
        name: Text = line.row if has_one_column else f"{line.row}, {line.column}"
        compared = f"compared with {line.published_row}" if line.published_row else ""
        if note := "; ".join(filter(None, (compared, line.note))):
            name = (str(name), Span(f"({note})", "note"))
        difference = None if line.source.partition(",")[0] in elsewhere else line.difference
        is_unknown = line.ours is None and line.n is not None
        ours: Text = UNKNOWN if is_unknown else number(line, line.ours)
        if line.interval:
            low, high = (number(line, end) for end in (line.interval.low, line.interval.high))
            ours = (str(ours), Span(f"[{low}, {high}]", "note"))
        rows.append(
            (
                name,
                ours,
                number(line, line.published),
                number(line, difference, sign=True),
                NONE if line.n is None else f"{line.n:,}",
                line.source,
            )
        )
    known = [
        place
        for place, name in enumerate(_HEADER)
        if name in ("figure", "ours") or any(row[place] not in (NONE, "") for row in rows)
    ]
    header, *shown = [tuple(row[place] for place in known) for row in (_HEADER, *rows)]
    return Table([*map(str, header)], shown, caption=caption)


def conditions_table(report: StudyReport) -> Table:
    """Return the conditions of this run and of the papers whose conditions are known."""
    papers = {name: paper for name, paper in paper_data().papers.items() if paper.conditions}
    header = ("condition", "this run", *papers)
    rows = [
        (name, value, *(theirs.conditions.get(name, NONE) for theirs in papers.values()))
        for name, value in report.conditions.items()
    ]
    return Table(header, rows, text_columns=len(header))


def study_document(report: StudyReport) -> Document:
    """Return the report as a document."""
    about = "The papers' tables and figures for this benchmark, next to the published ones"
    papers = paper_data().papers
    titles = "; ".join(f"{key}: {paper.title}" for key, paper in papers.items())
    computed = [section for section in report.sections if not section.problem]
    left_out = []
    for section in report.sections:
        if section.problem:
            command = "" if section.command in section.problem else f" ({section.command})"
            left_out.append(f"{section.title}: {section.problem}{command}")
    absent = [f"{each.what}: {each.why}." for each in paper_data().absent]
    own = report.conditions.get("source", "")
    elsewhere = [
        name for name, paper in papers.items() if paper.conditions.get("source", own) != own
    ]
    lines = [line for section in computed for line in section.lines]
    both = [line for line in lines if line.ours is not None and line.published is not None]
    empty = "No figure that could be computed is printed in a paper."
    summary = replace(lines_table(both, elsewhere=elsewhere), empty=empty)
    told = f"No difference is taken from {', '.join(elsewhere)}: the corpus is another."
    return Document(
        kind="Study",
        title=report.title,
        lead=[Paragraph(f"{about} · {report.generated_at}")],
        sections=[
            Section("summary", "Beside the papers' figures", [summary]),
            Section("conditions", "Conditions", [conditions_table(report), f"{titles}.",
                                                  *([told] if elsewhere else [])]),
            *(
                Section(f"s{number}", section.title, list(_blocks(section, elsewhere)))
                for number, section in enumerate(computed, 1)
            ),
            Section("left-out", "Not computed here", [Items([*left_out, *absent])]),
        ],
    )  # fmt: skip


def _blocks(section: StudySection, elsewhere: Collection[str]) -> Iterator[Block]:
    if section.reading:
        yield Paragraph(section.reading)
    yield Paragraph(("Command:", Span(section.command, "code")), "remark")
    known = [line for line in section.lines if line.ours is not None or line.n is not None]
    table = lines_table(known, elsewhere=elsewhere)
    # The table stands beneath a drawing of its main column, published values beside ours.
    column, ends = _DRAWN.get(section.study, (_COUNTED.get(section.study, NONE), None))
    dots: list[Dot] = []
    for line in section.lines:
        if line.ours is None or not line.column.startswith(column):
            continue
        name = f"{line.row}{line.column.removeprefix(column)}"
        digits = 0 if isinstance(line.ours, int) else line.digits or 3
        dots.append(Dot(name, line.ours, line.interval, digits))
        if line.published is not None and section.study not in _COUNTED:
            dots.append(Dot(f"{name}: {line.source}", line.published, digits=digits))
    if not dots:
        yield table
    elif section.study in _COUNTED:
        bars = [replace(dot, name=_NUMBER.findall(dot.name)[0]) for dot in dots]
        yield columns_figure(_NUMBER.sub("", dots[-1].name).strip(), column, bars, table)
    else:
        yield dots_figure(column, [*dict.fromkeys(dots)], table, ends)
    others = dict.fromkeys(line.row for line in section.lines if line not in known)
    if others:
        yield f"Published and not computed here: {', '.join(others)}."
