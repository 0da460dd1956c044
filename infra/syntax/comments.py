"""Prose of comments, apart from directives of tools and notices of rights.

A directive is a line for a linter, a compiler, an editor or another tool. ``comments.toml`` has a
table of them for each language, beside that of all, and one of notices at the heads of files.
"""

import re
import tomllib
from pathlib import Path

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
GENERATED = re.compile(
    r"[\s/*#!;-]*(?:@generated\b|(?:(?:warning|note|caution|important)\W+)?"
    r"(?:(?:this|the)(?: [\w.-]+){0,3} (?:is|was|has been) (?:an? )?)?"
    r"(?:auto(?:matically)?[ -]?)?(?:code[ -])?generated(?: (?:code|file|class|source)\b)*"
    r"(?: (?:by|from|with|using|on|at|via|in|automatically)\b.*)?"
    r"\s*[^\w\s]+\s*(?:please )?do not (?:edit|modify|change)\b)",
    re.IGNORECASE,
)
_LINE_ALONE = re.compile(r"(?://+|#+)[ \t]*")
_BLOCK = re.compile(r"/\*+!?|[ \t]*\*+/$|^=begin\b.*\n?|^=end\b.*", re.MULTILINE)
_MARGIN = re.compile(r"^[ \t]*(?:\*(?!/)|//+!?|#+)?[ \t]?", re.MULTILINE)
_NOTICE = re.compile(rf"^\W*(?:{'|'.join(_TABLES['notice'])})", re.IGNORECASE | re.MULTILINE)


def directives(*tables: str) -> re.Pattern[str]:
    """Return the pattern of the directives of some tables, from their marks to their lines' ends.

    They stand at the beginning of a line, or behind marks in it.
    """
    patterns = "|".join(pattern for table in tables for pattern in _TABLES.get(table, ()))
    return re.compile(rf"(?:^[\s/*#!]*|(?<=\s)(?://|#)[ \t]*)(?:{patterns}).*")


def strip_directives(text: str, directive: re.Pattern[str]) -> str:
    """Return a text without its directives; a line of one alone goes."""
    lines = ((line, directive.sub("", line)) for line in text.split("\n"))
    return "\n".join(rest for line, rest in lines if rest.strip() or not line.strip())


def prose_of(comment: str, directive: re.Pattern[str]) -> str | None:
    """Return a comment's text without marks; None where it is for tools alone.

    An empty line comment is "", which parts paragraphs. A block is a directive as a whole where it
    begins with one and is no documentation by its form, for directives may go on over lines.
    """
    if _LINE_ALONE.fullmatch(comment):
        return ""
    is_block = comment.startswith("/*") and not comment.startswith("/**")
    if comment == "/**/" or (is_block and directive.match(comment)):
        return None
    text = strip_directives(comment, directive).strip()
    return _MARGIN.sub("", _BLOCK.sub("", text)).strip() or None


def is_notice(text: str) -> bool:
    """Return True if a comment is the head of a file: a licence, or what it says of the file."""
    return _NOTICE.search(text) is not None
