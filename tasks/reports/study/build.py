"""Our figures beside the published ones: which belong together, and what differed."""

from collections.abc import Iterator, Mapping, Sequence

from infra.errors import SourceError, StudyError
from infra.records import Record
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
        chart: Columns that are drawn over the rows.
    """

    study: str
    title: str
    reading: str
    command: str
    problem: str
    lines: tuple[Line, ...]
    differed: dict[str, dict[str, str]]
    conditions: tuple[str, ...] = ()
    chart: tuple[str, ...] = ()


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
        chart=study.chart,
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
