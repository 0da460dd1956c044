"""The papers' figures and what pages say of studies, read from ``published.toml``."""

import tomllib
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from infra.records import Record

_FILE = Path(__file__).with_name("published.toml")


class Paper(Record):
    """A paper.

    Attributes:
        title: Its title.
        conditions: Condition → its value; empty where they are not known.
    """

    title: str
    conditions: dict[str, str] = Field(default_factory=dict)


class StudyText(Record):
    """The text of a study.

    Attributes:
        title: Of the table or figure.
        reading: How the figures are computed, and which choices the papers leave open.
        command: The command that computes it, with the files that it needs.
    """

    title: str
    reading: str = ""
    command: str = "cosqa study"


class PublishedFigure(Record):
    """A figure of a paper.

    Attributes:
        study: The study that computes it, or whose command does.
        paper: The key of the paper.
        place: The table, figure or section.
        row: The name of its row, as the paper writes it.
        column: The name of its column.
        value: An integer is a count.
        note: A remark on the published figure.
    """

    study: str
    paper: str
    place: str
    row: str
    column: str
    value: int | float
    note: str = ""

    @property
    def source(self) -> str:
        """Paper and place in short: "v2, Table V"."""
        return f"{self.paper}, {self.place}"


class PublishedTable(Record):
    """A table or figure: the attributes of its figures, and a row of values for each name."""

    study: str
    paper: str
    place: str
    note: str = ""
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


class Absent(Record):
    """Published figures that no command computes, and why."""

    what: str
    why: str


class PaperData(Record):
    """All that is published.

    Attributes:
        papers: Key of a paper → the paper.
        names: The papers' name of a method, model or row → our names → how ours differs.
        studies: Name of a study → its text, in the order of a page.
        tables: The papers' tables.
        absent: Figures that no command computes.
    """

    papers: dict[str, Paper]
    names: dict[str, dict[str, str]]
    studies: dict[str, StudyText]
    tables: tuple[PublishedTable, ...]
    absent: tuple[Absent, ...]

    @cached_property
    def figures(self) -> tuple[PublishedFigure, ...]:
        """All figures, in the order of the file."""
        return tuple(
            PublishedFigure(
                **table.model_dump(include={"study", "paper", "place", "note"}),
                row=row,
                column=column,
                value=value,
            )
            for table in self.tables
            for row, *values in table.rows
            for column, value in zip(table.columns, values, strict=True)
        )

    def name_of(self, ours: str) -> tuple[str, str]:
        """Return the papers' name of a method, model or row, and how ours differs from theirs.

        A name that the papers do not have is returned as it is.
        """
        for published, names in self.names.items():
            if ours in names:
                return published, names[ours]
        return ours, ""


@cache
def paper_data() -> PaperData:
    """Return all that is published."""
    return PaperData.model_validate(tomllib.loads(_FILE.read_text("utf-8")))
