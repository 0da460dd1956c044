"""The lines of a study as a Markdown table, and all of them as one long Arrow table."""

from collections.abc import Sequence

import pyarrow as pa

from infra.markdown import markdown_table, markdown_text
from tasks.reports._text import NONE
from tasks.reports.study.build import Line, StudyReport, StudySection

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


def cells(line: Line) -> tuple[str, ...]:
    """Return the cells of a line, as many as `HEADER` has."""
    return (
        f"{line.row}, {line.column}",
        number(line, line.ours),
        number(line, line.published),
        number(line, line.difference, sign=True),
        NONE if line.n is None else f"{line.n:,}",
        line.source,
    )


def study_rows(section: StudySection) -> tuple[Sequence[str], list[Sequence[str]], list[str]]:
    """Return the header, the rows and the notes of a section, for a terminal.

    Rows that we did not compute stand on the page and in the file alone.
    """
    lines = [line for line in section.lines if line.ours is not None or line.n is not None]
    left_out = len(section.lines) - len(lines)
    notes = differed(section)
    if left_out:
        notes.append(f"{left_out} published figures of rows that are not computed: see the page.")
    return HEADER, [cells(line) for line in lines], notes


def differed(section: StudySection) -> list[str]:
    """Return a sentence for each paper with what differed from it."""
    return [
        f"Different from {paper}: {'; '.join(changes)}."
        if changes
        else f"Data, model and size are those of {paper}."
        for paper, changes in section.differed.items()
    ]


def study_markdown(report: StudyReport) -> str:
    """Return the report as Markdown."""
    parts = [f"# {markdown_text(report.title)}"]
    if report.demo:
        parts.append("**Demo.** The labels come from the embedded model and are not meaningful.")
    parts.append(
        markdown_table(("condition", "this run"), list(report.conditions.items()), text_columns=2)
    )
    for section in report.sections:
        parts.append(f"## {markdown_text(section.title)}")
        parts += [markdown_text(text) for text in (section.reading, section.problem) if text]
        parts.append(f"Command: {markdown_text(section.command)}")
        if section.lines:
            parts.append(markdown_table(HEADER, [cells(line) for line in section.lines]))
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
            changes = section.differed.get(line.source.partition(",")[0], ())
            note = "; ".join(filter(None, (line.note, *changes, section.problem)))
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
