"""What comments say to readers, apart from what they say to tools and of rights.

A directive is a line for a linter, a compiler, an editor or another tool. Each language has one
table of its own (`SyntaxTreeLanguage.directives`), beside that of directives of all languages here.
"""

import re

_COMMON = (
    r"#?pragma:? *(?:no|mark|warning|once|region|endregion)\b", r"#\s*(?:end)?region\b",
    r"</?editor-fold\b", r"@?formatter:\s*o(?:n|ff)\b",
    r"(?:clang|spotless|fmt)[-:\w]*[: ]o(?:n|ff)\b",
    r"NOSONAR\b", r"NOLINT\w*", r"nolint\b", r"@?noinspection\b", r"noqa\b", r"type:\s*ignore\b",
    r"nosem(?:grep)?\b", r"#?nosec\b", r"lgtm\s*\[", r"coverity\[",
    r"(?i:(?:suppress\s+)?checkstyle\s*[:.\s]\s*(?:on|off|stop|resume|ignore|allow|disable|enable)\b)",
    r"SUPPRESS CHECKSTYLE\b", r"(?:LCOV|GCOVR?)_EXCL_\w+", r"codecov\b.*\bignore",
    r"(?i:cspell|spell-?checker|codespell)\s*:", r"prettier-ignore\b", r"language=\w+\s*$",
    r"-\*-", r"(?:vi|vim|ex):\s*\w", r"SPDX-[\w-]+:", r"(?i:all rights reserved)",
    r"(?i:copyright)\s*(?:(?i:\(c\)|&copy;|by\b|the\b)|[©:,]|\d{4}|[A-Z]|$)",
    r"(?:(?i:\(c\))|©)\s*(?:(?i:copyright)|\d{4})",
)  # fmt: skip
# A fold of an editor; "region of …" is prose.
REGION = r"end ?region\b|region\b(?!\s+(?:of|is|that|to|in|for|as|on)\b)"
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
_NOTICE = re.compile(
    r"^\W*(?:(?:dual[- ])?licen[sc]ed (?:under|to)\b|permission is hereby granted"
    r"|(?:released|distributed|available) under (?:the|an?)\b.*\blicen[sc]e"
    r"|redistribution and use in source|use of this source code is governed"
    r"|you may not use this file|(?:this|the) [\w -]{1,40} is free software"
    r"|@(?:licen[sc]e|file|fileoverview|overview)\b)",
    re.IGNORECASE | re.MULTILINE,
)


def directives(*own: str) -> re.Pattern[str]:
    """Return the pattern of a language's directives, from their marks to the end of their line.

    Args:
        own: Patterns of the language's own directives, beside those of all.
    """
    return only_directives(*_COMMON, *own)


def only_directives(*own: str) -> re.Pattern[str]:
    """Return the pattern of some directives, at the beginning of a line or behind marks in it."""
    return re.compile(rf"(?:^[\s/*#!]*|(?<=\s)(?://|#)[ \t]*)(?:{'|'.join(own)}).*")


def without_directives(text: str, directive: re.Pattern[str]) -> str:
    """Return a text without its directives; a line of one alone goes."""
    lines = ((line, directive.sub("", line)) for line in text.split("\n"))
    return "\n".join(rest for line, rest in lines if rest.strip() or not line.strip())


def prose_of(comment: str, directive: re.Pattern[str]) -> str | None:
    """Return what a comment says to readers, without marks; None where it is for tools alone.

    An empty line comment is "", which parts paragraphs. A block is a directive as a whole where it
    begins with one and is no documentation by its form, for directives may go on over lines.
    """
    if _LINE_ALONE.fullmatch(comment):
        return ""
    if comment == "/**/":
        return None
    if comment.startswith("/*") and not comment.startswith("/**") and directive.match(comment):
        return None
    return plain_comment(without_directives(comment, directive)) or None


def is_notice(text: str) -> bool:
    """Return whether a comment is the head of a file: a licence, or what it says of the file."""
    return _NOTICE.search(text) is not None


def plain_comment(text: str) -> str:
    """Return a comment's text without its marks."""
    return _MARGIN.sub("", _BLOCK.sub("", text.strip())).strip()
