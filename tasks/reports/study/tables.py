"""The lines of a study as a Markdown table, and all of them as one long Arrow table."""

from collections.abc import Sequence

import pyarrow as pa

from infra.markdown import markdown_table, markdown_text
from tasks.reports.study.build import Line, StudyReport, StudySection
from tasks.reports.text import NONE, UNKNOWN

SCHEMA = pa.schema(
    {
        "study": pa.string(),
        "row": pa.string(),
        "column": pa.string(),
        "ours": pa.float64(),
        "published": pa.float64(),
        "difference": pa.float64(),
        "n": pa.int64(),
        "note": pa.string(),
        "source": pa.string(),
        "command": pa.string(),
    }
)
HEADER = ("figure", "ours", "published", "difference", "n", "published in")
_SMALL = 0.01


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


def label(section: StudySection, line: Line) -> str:
    """Return what a line is: its row, and its column where the section has several."""
    columns = {each.column for each in section.lines}
    return line.row if len(columns) == 1 else f"{line.row}, {line.column}"


def cells(section: StudySection, line: Line) -> tuple[str, ...]:
    """Return the cells of a line, as many as `HEADER` has."""
    return (
        label(section, line),
        UNKNOWN if line.ours is None and line.n is not None else number(line, line.ours),
        number(line, line.published),
        number(line, line.difference, sign=True),
        NONE if line.n is None else f"{line.n:,}",
        line.source,
    )


def notes_of(line: Line) -> str:
    """Return a line's note, with the paper's name of the row where it is another one."""
    beside = f"beside {line.published_row}" if line.published_row else ""
    return "; ".join(filter(None, (beside, line.note)))


def study_rows(section: StudySection) -> tuple[Sequence[str], Sequence[Sequence[str]], list[str]]:
    """Return the header, the rows and the notes of a section, for a terminal.

    Rows that we did not compute stand on the page and in the file alone.
    """
    lines = [line for line in section.lines if line.ours is not None or line.n is not None]
    notes = [f"{line.row}: {notes_of(line)}" for line in lines if notes_of(line)]
    notes += [
        f"other than in {paper}: {', '.join(changes)}"
        for paper, changes in section.differed.items()
        if changes
    ]
    if left_out := len(section.lines) - len(lines):
        notes.append(f"{left_out} published figures that are not computed here: see the page")
    return HEADER, [cells(section, line) for line in lines], list(dict.fromkeys(notes))


def condition_rows(report: StudyReport) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return header and rows of the conditions of this run and of the papers."""
    header = ("condition", "this run", *report.of_papers)
    rows = [
        (name, value, *(theirs.get(name, NONE) for theirs in report.of_papers.values()))
        for name, value in report.conditions.items()
    ]
    return header, rows


def differed(section: StudySection) -> list[str]:
    """Return a sentence for each paper with what differed from it."""
    return [
        f"Other than in {paper}: {'; '.join(changes.values())}."
        if changes
        else f"As in {paper}: {', '.join(section.conditions)}."
        for paper, changes in section.differed.items()
    ]


def study_markdown(report: StudyReport) -> str:
    """Return the report as Markdown."""
    parts = [f"# {markdown_text(report.title)}"]
    parts.append(markdown_table(*condition_rows(report), text_columns=4))
    for section in report.sections:
        parts.append(f"## {markdown_text(section.title)}")
        parts += [markdown_text(text) for text in (section.reading, section.problem) if text]
        parts.append(f"Command: {markdown_text(section.command)}")
        if section.lines:
            parts.append(markdown_table(HEADER, [cells(section, line) for line in section.lines]))
        parts += [markdown_text(text) for text in differed(section)]
    parts.append("## Computed by no command")
    parts.append(
        "\n".join(
            f"- {markdown_text(each.what)}: {markdown_text(each.why)}." for each in report.absent
        )
    )
    return "\n\n".join(parts) + "\n"


def figures_table(report: StudyReport) -> pa.Table:
    """Return all lines as a table of `SCHEMA`.

    The note of a line has what differed from its paper too.
    """
    rows = []
    for section in report.sections:
        for line in section.lines:
            changes = section.differed.get(line.source.partition(",")[0], {})
            note = "; ".join(filter(None, (notes_of(line), *changes.values(), section.problem)))
            rows.append(
                {
                    "study": section.study,
                    "row": line.row,
                    "column": line.column,
                    "ours": line.ours,
                    "published": line.published,
                    "difference": line.difference,
                    "n": line.n,
                    "note": note,
                    "source": line.source,
                    "command": section.command,
                }
            )
    return pa.Table.from_pylist(rows, schema=SCHEMA)
