"""Words of queries and code, for lexical methods."""

import re
from collections.abc import Iterable

# Runs of lower case with at most one leading capital, acronyms, other letters, digits: what is left
# of an identifier when it is split at case and underscore.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")


def spellings(text: str) -> Iterable[str]:
    """Return the words of a text as they are spelt: ``readJSONFile_2`` → read, JSON, File, 2."""
    return _WORD.findall(text)


def words(text: str) -> list[str]:
    """Return lower-cased words, identifiers split: ``readJSONFile_2`` → read, json, file, 2."""
    return [word.lower() for word in spellings(text)]
