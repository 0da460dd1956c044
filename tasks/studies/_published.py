"""The papers' figures, read from ``published.toml``."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from infra.records import Record

_FILE = Path(__file__).with_name("published.toml")


class PublishedFigure(Record):
    """A figure of a paper.

    Attributes:
        study: The study that computes it; empty where another command does.
        paper: The key of the paper.
        place: The table, figure or section.
        row: The name of its row, as the paper writes it.
        column: The name of its column.
        value: An integer is a count.
        command: The other command that computes it.
        title: Of that command's table.
        note: A remark on the published figure.
    """

    study: str
    paper: str
    place: str
    row: str
    column: str
    value: int | float
    command: str = ""
    title: str = ""
    note: str = ""

    @property
    def source(self) -> str:
        """Paper and place in short: "v2, Table V"."""
        return f"{self.paper}, {self.place}"


class Absent(Record):
    """Published figures that no command computes, and why."""

    what: str
    why: str


@cache
def _content() -> dict[str, Any]:
    return tomllib.loads(_FILE.read_text("utf-8"))


@cache
def published_figures() -> tuple[PublishedFigure, ...]:
    """Return all published figures in the order of the file."""
    return tuple(
        PublishedFigure(
            **{key: table[key] for key in ("study", "paper", "place")},
            row=row[0],
            column=column,
            value=value,
            **{key: table[key] for key in ("command", "title", "note") if key in table},
        )
        for table in _content()["tables"]
        for row in table["rows"]
        for column, value in zip(table["columns"], row[1:], strict=True)
    )


def study_order() -> list[str]:
    """Return the studies that have a published table or figure, in the order of the file."""
    return list(dict.fromkeys(table["study"] for table in _content()["tables"]))


def absent_figures() -> tuple[Absent, ...]:
    """Return the published figures that no command computes."""
    return tuple(Absent.model_validate(row) for row in _content()["absent"])


def paper_titles() -> dict[str, str]:
    """Return key of a paper → its title."""
    return {key: str(paper["title"]) for key, paper in _content()["papers"].items()}


def paper_conditions(paper: str) -> Mapping[str, str]:
    """Return condition → its value in a paper; empty where the paper's are not known."""
    conditions: dict[str, str] = _content()["papers"][paper].get("conditions", {})
    return conditions


def published_name(name: str) -> tuple[str, str]:
    """Return the papers' name of a method, model or row, and how ours differs from theirs.

    A name that the papers do not have is returned as it is.
    """
    for published, ours in _content()["names"].items():
        if name in ours:
            return published, ours[name]
    return name, ""
