"""The filter of snippets that are Python and nothing else.

Source: CoSQA+, the section on cleaning StaQC: a classifier of programming languages keeps about
79,000 of 148,000 snippets; four kinds go: incomplete snippets, text of no programming language,
other languages, and Python with other content such as a session with its output. In place of the
paper's classifier (Guesslang, of which there are no releases any more) it is Magika's, whose model
is part of its package, and the syntax decides where the classifier is unsure.
"""

import ast
import re
import textwrap
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from infra.languages.python import parse_or_none
from tasks.filters import CorpusFunction, filters

if TYPE_CHECKING:
    from magika import Magika

INCOMPLETE = "incomplete snippet of Python"
IRRELEVANT = "text of no programming language"
OTHER_LANGUAGE = "snippet of another language"
MIXED = "Python with other content"

# A line's own space alone: that of empty lines would be read again from each of them.
_SESSION = re.compile(r"(?m)^[^\S\n]*(>>>|In \[\d*\]:|Out\[\d*\]:|Traceback \(most recent call)")
_SURE, _LIKELY = 0.7, 0.5  # probabilities of the classifier
_MARKUP = frozenset({"html", "xml", "css", "json", "yaml", "ini", "csv", "markdown", "latex"})
_PYTHON_2 = re.compile(
    r"(?m)(^[^\S\n]*(?:print\s+[^=(\s].*$|exec\s+[^(=\s].*$|raise\s+\w+\s*,)"
    r"|except\s+[\w.]+\s*,\s*\w+\s*:|\b0\d+\b|`)"
)
_PRINT = re.compile(r"(?m)^([^\S\n]*(?:.*:\s+)?)print[ \t]([^=\n]*)$")
_EXCEPT = re.compile(r"(except\s+[\w.]+)\s*,\s*(\w+)\s*:")
_PYTHON = re.compile(
    r"(?m)^\s*(def|class|import|from|for|while|with|try|except|finally|elif|else|if|return|print|"
    r"lambda|raise|yield|@\w+)\b|^\s*[\w.]+\s*[-+*/]?=[^=]|^\s*[\w.]+\("
)


class _Guess(NamedTuple):
    """The classifier's result for a text: a name, its probability, and if it is code."""

    label: str
    probability: float
    is_code: bool


@cache
def _classifier() -> "Magika":
    from magika import Magika  # noqa: PLC0415 - loads ONNX's runtime

    return Magika()


@filters.register("python-code")
class PythonCode:
    """Keeps statements, blocks and functions of Python; drops what is more, less or other."""

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return a snippet's kind of the four, or None when it is Python."""
        text = textwrap.dedent(function.code.text)
        if _SESSION.search(text):
            return MIXED
        tree = parse_or_none(text)
        found = _classifier().identify_bytes(text.encode()).prediction
        is_code = found.dl.group == "code" or found.dl.label in _MARKUP
        guess = _Guess(found.dl.label, found.score, is_code)
        is_python = guess.label == "python"
        is_other = is_code and guess.probability >= _SURE
        if tree is not None and (is_python or not is_other):
            return _reason_of_tree(tree, guess)
        if _is_python_2(text) or (is_python and _PYTHON_2.search(text)):
            return None  # whole, in the Python of its time; ``parseable`` is for those who mind
        if not is_python and is_other:
            return OTHER_LANGUAGE
        return _reason_of_text(text, guess)


def _is_python_2(text: str) -> bool:
    changed = _EXCEPT.sub(r"\1 as \2:", _PRINT.sub(r"\1print(\2)", text))
    return changed != text and parse_or_none(changed) is not None


def _reason_of_tree(tree: ast.Module, guess: _Guess) -> str | None:
    """Return why a text that parses says nothing by itself, or None when it does."""
    values = [node.value if isinstance(node, ast.Expr) else None for node in tree.body]
    if all(map(_is_literal, values)):
        is_data = guess.is_code and guess.label != "python" and guess.probability >= _LIKELY
        return OTHER_LANGUAGE if is_data else IRRELEVANT
    named = (ast.Name, ast.Attribute, ast.Constant)
    return INCOMPLETE if all(isinstance(value, named) for value in values) else None


def _is_literal(value: ast.expr | None) -> bool:
    try:
        ast.literal_eval(value or ast.Name("statement", ast.Load()))
    except (ValueError, TypeError, MemoryError, RecursionError):
        return False
    return True


def _reason_of_text(text: str, guess: _Guess) -> str:
    """Return why a text that does not parse is dropped, where no other language is sure."""
    lines = [line for line in text.splitlines() if line.strip()]
    like_python = sum(bool(_PYTHON.search(line)) for line in lines)
    if guess.label == "python" or like_python * 2 > len(lines):
        parses = sum(parse_or_none(line.strip()) is not None for line in lines)
        return MIXED if like_python and like_python < len(lines) - parses else INCOMPLETE
    return OTHER_LANGUAGE if guess.is_code and guess.probability >= _LIKELY else IRRELEVANT
