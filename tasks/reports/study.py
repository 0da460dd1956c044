"""The report of a study: our figures beside the published ones, and what differed."""

from collections.abc import Iterator, Mapping, Sequence

from infra.errors import SourceError, StudyError
from infra.records import Record
from tasks.reports.document import (
    Block,
    Document,
    Items,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
)
from tasks.reports.text import NONE, UNKNOWN
from tasks.studies import (
    Evidence,
    Figure,
    PublishedFigure,
    Study,
    published_figures,
    published_name,
    studies,
)
from tasks.studies._published import (
    Absent,
    absent_figures,
    paper_conditions,
    paper_titles,
    study_order,
)

_HEADER = ("figure", "ours", "published", "difference", "n", "published in")
_SMALL = 0.01


class Line(Record):
    """A figure of ours, a published one, or both side by side.

    Attributes:
        row: Our name of the row; the paper's where we have no figure.
        published_row: The paper's name of it where it is another one, else empty.
        ours: None where it is unknown or not computed.
        published: None where the papers print none.
        n: The number of items that ours is taken over.
        source: Paper and place of the published figure.
        note: What needs to be said of either.
    """

    row: str
    column: str
    published_row: str = ""
    ours: int | float | None = None
    published: int | float | None = None
    n: int | None = None
    source: str = ""
    note: str = ""

    @property
    def difference(self) -> int | float | None:
        """Ours less the published figure."""
        if self.ours is None or self.published is None:
            return None
        return self.ours - self.published


class StudySection(Record):
    """A table or figure of the papers.

    Attributes:
        study: The study's name; empty where only another command computes it.
        command: What computes it.
        problem: Why it is not computed; empty where it is.
        differed: Paper → condition that was another → what it was, here and there.
        conditions: The conditions that were compared.
    """

    study: str
    title: str
    reading: str
    command: str
    problem: str
    lines: tuple[Line, ...]
    differed: dict[str, dict[str, str]]
    conditions: tuple[str, ...] = ()


class StudyReport(Record):
    """All studies of one run.

    Attributes:
        conditions: Name of a condition → its value in this run.
        of_papers: Paper → condition → its value there, of papers whose conditions are known.
        absent: What is published and computed by no command.
        papers: Key of a paper → its title.
    """

    title: str
    generated_at: str
    conditions: dict[str, str]
    of_papers: dict[str, dict[str, str]]
    sections: tuple[StudySection, ...]
    absent: tuple[Absent, ...]
    papers: dict[str, str]


def build_report(evidence: Evidence, title: str, generated_at: str) -> StudyReport:
    """Return the report on all registered studies.

    Args:
        evidence: What the figures are computed from.
        title: Of the page.
        generated_at: When it was made.
    """
    published: dict[str, list[PublishedFigure]] = {}
    for figure in published_figures():
        published.setdefault(figure.study, []).append(figure)
    order = {name: place for place, name in enumerate(study_order())}
    names = sorted(studies, key=lambda name: (order.get(name, len(order)), name))
    return StudyReport(
        title=title,
        generated_at=generated_at,
        conditions=dict(evidence.conditions),
        of_papers={
            paper: dict(conditions)
            for paper in paper_titles()
            if (conditions := paper_conditions(paper))
        },
        sections=(
            *(_section(name, evidence, published.get(name, [])) for name in names),
            *_by_other_commands(published.get("", [])),
        ),
        absent=absent_figures(),
        papers=paper_titles(),
    )


def _section(name: str, evidence: Evidence, published: Sequence[PublishedFigure]) -> StudySection:
    study = studies.get(name)
    figures, problem = _computed(study, evidence)
    papers = dict.fromkeys(figure.paper for figure in published)
    return StudySection(
        study=name,
        title=study.title,
        reading=study.reading,
        command=study.command,
        problem=problem,
        lines=tuple(_lines(figures, published)),
        differed={
            paper: differences(study.conditions, evidence.conditions, paper)
            for paper in papers
            if figures and study.conditions and paper_conditions(paper)
        },
        conditions=study.conditions,
    )


def _computed(study: type[Study], evidence: Evidence) -> tuple[Sequence[Figure], str]:
    """Return a study's figures, and why there are none."""
    try:
        figures = study().figures(evidence)
    except (StudyError, SourceError) as error:
        return (), str(error)
    return figures, "" if figures else "there is nothing to compute it from"


def differences(names: Sequence[str], ours: Mapping[str, str], paper: str) -> dict[str, str]:
    """Return those of the named conditions in which a run differs from a paper.

    Each has a text such as "queries: 40, published 20,604".
    """
    theirs = paper_conditions(paper)
    return {
        name: f"{name}: {ours.get(name, 'none')}, published {theirs[name]}"
        for name in names
        if name in theirs and ours.get(name) != theirs[name]
    }


def _lines(figures: Sequence[Figure], published: Sequence[PublishedFigure]) -> Iterator[Line]:
    """Yield a line for each of our figures and its published ones, then those without ours."""
    theirs: dict[tuple[str, str], list[PublishedFigure]] = {}
    for other in published:
        theirs.setdefault((other.row, other.column), []).append(other)
    met: set[tuple[str, str]] = set()
    for figure in figures:
        row, differs = published_name(figure.row)
        met.add((row, figure.column))
        alone = Line(
            row=figure.row, column=figure.column, ours=figure.value, n=figure.n, note=figure.note
        )
        beside = theirs.get((row, figure.column), [])
        for other in beside:
            update = {
                "published_row": "" if row == figure.row else row,
                "published": other.value,
                "source": other.source,
                "note": _joined(figure.note, differs, other.note),
            }
            yield alone.model_copy(update=update)
        if not beside:
            yield alone
    for key, others in theirs.items():
        yield from (_published_alone(other) for other in others if key not in met)


def _published_alone(figure: PublishedFigure) -> Line:
    return Line(
        row=figure.row,
        column=figure.column,
        published=figure.value,
        source=figure.source,
        note=figure.note,
    )


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _by_other_commands(published: Sequence[PublishedFigure]) -> Iterator[StudySection]:
    """Yield a section for each published table that only another command computes."""
    for command in dict.fromkeys(figure.command for figure in published):
        figures = [figure for figure in published if figure.command == command]
        yield StudySection(
            study="",
            title=figures[0].title,
            reading="",
            command=command,
            problem=f"these are figures of another command: {command}",
            lines=tuple(map(_published_alone, figures)),
            differed={},
        )


def number(line: Line, value: float | None, *, sign: bool = False) -> str:
    """Return a value of a line: counts whole, others to three digits, or five where all are small.

    Args:
        line: The line, all of whose figures get the same form.
        value: One of them; None gives a dash.
        sign: Write a plus before what is above 0.
    """
    if value is None:
        return NONE
    shown = [each for each in (line.ours, line.published) if each is not None]
    if all(isinstance(each, int) for each in shown):
        form = ",.0f"
    else:
        form = ",.5f" if all(abs(each) < _SMALL for each in shown) and any(shown) else ",.3f"
    return format(value, f"+{form}" if sign and value else form)


def _label(section: StudySection, line: Line) -> str:
    """Return what a line is: its row, and its column where the section has several."""
    columns = {each.column for each in section.lines}
    return line.row if len(columns) == 1 else f"{line.row}, {line.column}"


def _cells(section: StudySection, line: Line) -> tuple[str, ...]:
    """Return the cells of a line, as many as `_HEADER` has."""
    return (
        _label(section, line),
        UNKNOWN if line.ours is None and line.n is not None else number(line, line.ours),
        number(line, line.published),
        number(line, line.difference, sign=True),
        NONE if line.n is None else f"{line.n:,}",
        line.source,
    )


def _note_of(line: Line) -> str:
    """Return a line's note, with the paper's name of the row where it is another one."""
    compared = f"compared with {line.published_row}" if line.published_row else ""
    return _joined(compared, line.note)


def conditions_table(report: StudyReport) -> Table:
    """Return the conditions of this run and of the papers."""
    header = ("condition", "this run", *report.of_papers)
    rows = [
        (name, value, *(theirs.get(name, NONE) for theirs in report.of_papers.values()))
        for name, value in report.conditions.items()
    ]
    return Table(header, rows, text_columns=len(header))


def study_document(report: StudyReport) -> Document:
    """Return the report as a document."""
    told = "The papers' tables and figures, computed for this benchmark, beside the published ones"
    papers = "; ".join(f"{key}: {title}" for key, title in report.papers.items())
    absent = Items([f"{each.what}: {each.why}." for each in report.absent])
    return Document(
        kind="Study",
        title=report.title,
        lead=[Paragraph(f"{told} · {report.generated_at}")],
        sections=[
            Section("conditions", "Conditions", [conditions_table(report), f"{papers}."]),
            *(
                Section(f"s{number}", section.title, list(_blocks(section)))
                for number, section in enumerate(report.sections, 1)
            ),
            Section("absent", "Computed by no command", [absent]),
        ],
    )


def _blocks(section: StudySection) -> Iterator[Block]:
    if section.reading:
        yield Paragraph(section.reading)
    yield Paragraph(("Command:", Span(section.command, "code")), "remark")
    if section.problem:
        yield f"Not computed here: {section.problem}"
    if section.lines:
        yield Table(_HEADER, [_noted_cells(section, line) for line in section.lines])
    for paper, changes in section.differed.items():
        if changes:
            yield f"Other than in {paper}: {'; '.join(changes.values())}."
        else:
            yield f"As in {paper}: {', '.join(section.conditions)}."


def _noted_cells(section: StudySection, line: Line) -> Sequence[Text]:
    """Return the cells of a line with its note beneath the first."""
    cells, note = _cells(section, line), _note_of(line)
    return ((cells[0], Span(f"({note})", "note")), *cells[1:]) if note else cells
