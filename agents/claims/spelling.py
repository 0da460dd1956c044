"""Ways in which a model writes claims beside the one that it was told."""

import array
import ast
import builtins
import collections
import datetime as dt
import decimal
import fractions
import functools
import io
import itertools
import pathlib
import re
import types
from collections.abc import Sequence

from agents.claims.literals import expression
from agents.claims.making import MAKERS

_LONGEST_JOINED = 1_000  # characters of lines that are one
MOST_JOINED = 12  # lines
_WORDS = {"true": "True", "false": "False", "null": "None"}
_ERROR = re.compile(
    r"(?:raises? (?:an? )?([A-Za-z_][\w.]*)|([A-Za-z_][\w.]*(?:Error|Exception)|StopIteration))"
    r"(?:\s*\(.*\))?\.?"
)
_TEXT_OR_COMMENT = re.compile(
    r"'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|#.*",
    re.DOTALL,
)
_MODULES = (
    array, builtins, collections, dt, decimal, fractions, functools, io, itertools, pathlib,
    types,
)  # fmt: skip
# What a claim may call to make an argument.
_MAKERS = frozenset(
    {name for module in _MODULES for name, value in vars(module).items() if isinstance(value, type)}
    | set(dir(builtins))
    | MAKERS
    | {"arange", "asarray", "eye", "full", "linspace", "matrix", "namedtuple", "ones", "zeros"}
)


def spelt(value: str) -> str:
    """Return a value as it would be told: without marks of code and what stands behind it.

    An exception's name alone, or with a message, is that the call raises it.
    """
    text = _without_comment(value).strip().strip("`").strip().rstrip(",;").rstrip()
    if found := _ERROR.fullmatch(text):
        return f"raises {found[1] or found[2]}"
    return _WORDS.get(text, text)


def spelt_arguments(arguments: str) -> str:
    """Return arguments as they would be told: those of a call too, by a name that makes nothing."""
    text = arguments.strip().strip("`").strip()
    match expression(f"({text}\n)"):
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name not in _MAKERS:
            return ", ".join(map(ast.unparse, given))
    return text


def first_line(lines: Sequence[str]) -> tuple[str, int]:
    """Return the first line, with those in which its text or bracket ends, and how many these are.

    Args:
        lines: The line and at most `MOST_JOINED` in all, with their ends.
    """
    whole = ""
    for number, line in enumerate(lines, 1):
        kept = line.rstrip("\r\n")
        whole += kept
        state = _open(whole)
        if not state:
            return whole, number
        if len(whole) > _LONGEST_JOINED:
            break
        whole += repr(line[len(kept) :])[1:-1] if state == "text" else " "
    return (lines[0].rstrip("\r\n"), 1) if lines else ("", 0)


def _without_comment(text: str) -> str:
    for found in _TEXT_OR_COMMENT.finditer(text):
        if found[0].startswith("#"):
            return text[: found.start()]
    return text


def _open(text: str) -> str:
    """Return what a piece of source leaves open: a text, a bracket or nothing, "" then."""
    rest = _TEXT_OR_COMMENT.sub("", text)
    if "'" in rest or '"' in rest:
        return "text"
    opened, closed = (sum(map(rest.count, marks)) for marks in ("([{", ")]}"))
    return "bracket" if opened > closed else ""
