"""A document as one self-contained page of HTML, and as Markdown.

The page has no script and fetches nothing, is light and dark, and fits a phone. Markdown is the
short form: it has no details.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape
from pygments import highlight  # type: ignore[import-untyped]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexer import Lexer  # type: ignore[import-untyped]
from pygments.lexers import TextLexer, get_lexer_by_name  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from infra.text import markdown_code, markdown_text
from tasks.reports.document import (
    Block,
    Code,
    Document,
    Figure,
    Items,
    KeyValues,
    Paragraph,
    Span,
    Table,
    Text,
    inline_spans,
)
from tasks.reports.text import visible

# Characters shown of a text, which files beside the report have whole; of a `Span` those of a line.
_LINE, _PARAGRAPH, _CODE = 400, 4_000, 16_000
_SHORT_LINE, _SHORT_PARAGRAPH = 200, 2_000  # in Markdown
_HEADINGS = {"h3": "### ", "h4": "#### "}
_BADGES = ("yes", "no", "open")
_PLAIN_CODE = re.compile(r"[\w ,.:/+=()-]+")
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\\]+")


def html_page(document: Document) -> str:
    """Return the page."""
    return _template().render(document=document)


def markdown_page(document: Document) -> str:
    """Return the document as Markdown."""
    parts = [f"# {_line(document.title)}"] if document.title else []
    parts += _markdown(document.lead)
    for section in document.sections:
        said = list(_markdown(section.blocks))
        parts += [f"## {_line(section.title)}", *said] if said else []
    return "\n\n".join(parts) + "\n"


@cache
def _template() -> Template:
    return environment().get_template("page.html.jinja")


def environment(*folders: Path) -> Environment:
    """Return the environment of templates: of other folders first, then of this one.

    All text is escaped. Filters show a text with its marks made visible and its middle left out.
    """
    made = Environment(
        loader=FileSystemLoader([*folders, Path(__file__).parent]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "inline": _inline,
        "breakable": _breakable,
        "coloured": _coloured,
        "drawn": lambda image: Markup(image.svg()),  # noqa: S704 - its texts are escaped
        "cut": lambda text: visible(text, _CODE // 2),
    }
    return made


def _coloured(source: str, language: str = "python") -> Markup:
    shown = highlight(visible(source, _CODE), _lexer(language), HtmlFormatter(nowrap=True))
    return Markup(shown)  # noqa: S704 - the formatter escapes


@lru_cache(maxsize=20)
def _lexer(language: str) -> Lexer:
    known = {"stripnl": False, "ensurenl": False}
    try:
        return get_lexer_by_name(language, **known)
    except ClassNotFound:
        return TextLexer(**known)


def _inline(text: Text, longest: int = _LINE) -> Markup:
    return Markup(" ").join(_html_span(each, longest) for each in inline_spans(text))


def _html_span(span: str | Span, longest: int) -> Markup:
    if isinstance(span, str):
        return escape(visible(span, longest))
    text = visible(span.text, _LINE)
    if span.href:
        link = '<a href="{1}" rel="noreferrer">{0}</a>' if _is_safe(span.href) else "{0}"
        shown = Markup(link + "<br><code>{1}</code>")  # noqa: S704 - a constant
        return shown.format(text, visible(span.href, _PARAGRAPH))
    kind = f"badge {span.kind}" if span.kind in _BADGES else span.kind
    tag = {"strong": "b", "best": "b", "code": "code"}.get(span.kind, "span")
    shown = Markup('<{0} class="{1}">{2}</{0}>')
    return shown.format(tag, kind, text)


def _is_safe(address: str) -> bool:
    try:
        return urlsplit(address).scheme in {"http", "https", "file", ""}
    except ValueError:
        return False


def _breakable(name: str) -> Markup:
    """Return a column's name, which may break before a metric's variant."""
    return Markup(_inline(name).replace("(", "<wbr>("))  # noqa: S704 - escaped


def _markdown(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case str():
                yield _line(block, _SHORT_PARAGRAPH)
            case Paragraph(text, kind):
                yield _HEADINGS.get(kind, "") + _line(text, _SHORT_PARAGRAPH)
            case Items(entries):
                yield "\n".join(f"- {_line(entry, _SHORT_PARAGRAPH)}" for entry in entries)
            case Table() | KeyValues():
                yield from _table(block)
            case Figure(table=table) if table.header:
                yield from _table(table)
            case Code(text, kind):
                yield markdown_code(visible(text, _CODE), "python" if kind == "python" else "")


def _table(table: Table | KeyValues) -> Iterator[str]:
    if isinstance(table, KeyValues):
        table = Table(("what", "items"), list(table.values.items()))
    if table.caption:
        yield f"### {_line(table.caption)}"
    if not table.rows:
        yield _line(table.empty)
        return
    rule = ["---"] * table.text_columns + ["---:"] * (len(table.header) - table.text_columns)
    header, *rows = [[_line(cell) for cell in row] for row in (table.header, *table.rows)]
    yield "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))


def _line(text: Text, longest: int = _SHORT_LINE) -> str:
    return " ".join(_markdown_span(each, longest) for each in inline_spans(text))


def _markdown_span(span: str | Span, longest: int) -> str:
    if isinstance(span, str):
        return markdown_text(visible(span, longest))
    text = markdown_text(visible(span.text, _LINE))
    if span.href:
        if _WEB_ADDRESS.fullmatch(span.href):
            return f"[{text}](<{span.href}>)"
        return f"{text}: {_markdown_span(span.href, longest)}"
    if span.kind == "code" and _PLAIN_CODE.fullmatch(span.text):
        return f"`{span.text}`"
    if span.kind in _BADGES:
        return f"({text})"
    return f"**{text}**" if span.kind == "strong" and text else text
