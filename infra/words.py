"""Words of texts and of identifiers."""

import re
from unicodedata import normalize

import regex

# Runs of lower case with at most one leading capital, acronyms, letters without case, digits: what
# is left of an identifier when it is split at case and underscore. A mark belongs to its letter.
_WORD = regex.compile(
    r"\p{Lu}[\p{Lu}\p{M}]*(?![\p{Ll}\p{M}])|(?:\p{Lu}\p{M}*)?\p{Ll}[\p{Ll}\p{M}]*"
    r"|(?:[\p{Lo}\p{Lm}\p{Lt}\p{Nl}\p{No}]\p{M}*)+|\d+"
)
_ASCII = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")  # the same, in half the time


def words(text: str) -> list[str]:
    """Return lower-cased words, identifiers split: ``readJSONFile_2`` → read, json, file, 2.

    Letters that Unicode holds for the same, such as é in one character or in two, are the same.
    """
    found = _ASCII.findall(text) if text.isascii() else _WORD.findall(normalize("NFC", text))
    return [word.lower() for word in found]
