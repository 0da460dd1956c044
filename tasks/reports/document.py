"""The content of a report, apart from its look: a `Document` of blocks.

A report is a file of this folder that returns a document. `tasks.reports.render` makes a page of
HTML or Markdown of it; commands print its tables. All text may come from outside: no report escapes
or shortens any.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

Kind = Literal["strong", "code", "best", "soft", "query", "note", "yes", "no", "open"]


@dataclass(frozen=True)
class Span:
    """An inline text that stands out.

    Attributes:
        text: The text.
        kind: How: "note" is small and on a line of its own; the last four are badges.
        href: Where it leads, if it does.
    """

    text: str
    kind: Kind = "strong"
    href: str = ""


# The parts of a text are separated by a space.
Text = str | Span | tuple[str | Span, ...]


def inline_spans(text: Text) -> tuple[str | Span, ...]:
    """Return the spans and plain strings of a text."""
    return text if isinstance(text, tuple) else (text,)


def plain_text(text: Text) -> str:
    """Return a text without its marks; where it leads stands behind a link."""
    return " ".join(
        each if isinstance(each, str) else ": ".join(filter(None, (each.text, each.href)))
        for each in inline_spans(text)
    )


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, or a heading of the third or fourth level.

    Attributes:
        text: What it says.
        kind: A remark is soft, and evidence follows a step.
    """

    text: Text
    kind: Literal["", "remark", "step", "h3", "h4"] = ""
    tag: ClassVar = "paragraph"


@dataclass(frozen=True)
class Items:
    """A list."""

    entries: Sequence[Text]
    tag: ClassVar = "items"


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        header: Names of the columns.
        rows: As many cells each.
        text_columns: Columns from the left that are no figures.
        caption: What it shows; stands above it.
        empty: What is said where it has no rows.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Text]]
    text_columns: int = 1
    caption: str = ""
    empty: str = "None."
    tag: ClassVar = "table"


@dataclass(frozen=True)
class KeyValues:
    """Values by name; large ones are the figures that readers look for first."""

    values: Mapping[str, Text]
    large: bool = False
    tag: ClassVar = "key-values"


@dataclass(frozen=True)
class Code:
    """Code or output as it is; Python is coloured, errors stand out."""

    text: str
    kind: Literal["python", "output", "error"] = "python"
    tag: ClassVar = "code"


@dataclass(frozen=True)
class Details:
    """Blocks that are opened by who wants to see them; on a page alone."""

    summary: Text
    blocks: "Sequence[Block]"
    tag: ClassVar = "details"


class Image(Protocol):
    """A drawing that can be put into a page."""

    def svg(self) -> str:
        """Return it as an element of HTML."""


@dataclass(frozen=True)
class Figure:
    """A drawing above the table of its numbers; Markdown and terminals show the table alone.

    Attributes:
        image: The drawing.
        alt: What it shows, for whoever cannot see it.
        table: Its numbers; those of a further drawing of the same stand beneath the other.
    """

    image: Image
    alt: str
    table: Table = Table((), (), empty="")
    tag: ClassVar = "figure"


# A bare string is a remark.
Block = str | Paragraph | Items | Table | KeyValues | Code | Details | Figure


@dataclass(frozen=True)
class Section:
    """A part of a document with an address of its own.

    Attributes:
        name: Its address on the page.
        title: Its heading.
        blocks: What it says.
    """

    name: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """A report.

    Attributes:
        title: Its heading; none where it is empty.
        lead: What is said before the sections.
        sections: The parts.
        kind: What sort of report it is, in a word; commands print it before the page's address.
    """

    title: str
    lead: Sequence[Block] = ()
    sections: Sequence[Section] = ()
    kind: str = ""
