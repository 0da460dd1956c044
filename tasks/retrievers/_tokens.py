"""Words of queries and code, for lexical methods."""

import re
from collections.abc import Iterable
from unicodedata import normalize

import regex

# Runs of lower case with at most one leading capital, acronyms, letters without case, digits: what
# is left of an identifier when it is split at case and underscore. A mark belongs to its letter.
_WORD = regex.compile(
    r"\p{Lu}[\p{Lu}\p{M}]*(?![\p{Ll}\p{M}])|(?:\p{Lu}\p{M}*)?\p{Ll}[\p{Ll}\p{M}]*"
    r"|(?:[\p{Lo}\p{Lm}\p{Lt}\p{Nl}\p{No}]\p{M}*)+|\d+"
)
_ASCII = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")  # the same, in half the time


def spellings(text: str) -> Iterable[str]:
    """Return the words of a text as they are spelt: ``readJSONFile_2`` → read, JSON, File, 2.

    Letters that Unicode holds for the same, such as é in one character or in two, are the same.
    """
    if text.isascii():
        return _ASCII.findall(text)
    found: list[str] = _WORD.findall(normalize("NFC", text))
    return found


def words(text: str) -> list[str]:
    """Return lower-cased words, identifiers split: ``readJSONFile_2`` → read, json, file, 2."""
    return [word.lower() for word in spellings(text)]
