"""Syntax highlighting of Python source, as escaped HTML."""

from functools import cache

from markupsafe import Markup
from pygments import highlight  # type: ignore[import-untyped]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]


def coloured(source: str) -> Markup:
    """Return Python source as escaped HTML with a class on each token."""
    lexer, formatter = _machinery()
    return Markup(highlight(source, lexer, formatter))  # noqa: S704 - the formatter escapes


@cache
def _machinery() -> tuple[PythonLexer, HtmlFormatter]:
    return PythonLexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True)
