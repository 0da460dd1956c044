"""Languages that tree-sitter parses: their trees, mutants and comments.

And, for any language, names of functions that tell of errors or of what is done: few queries demand
the words of such.
"""

import re

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_TELLING = re.compile(r"err(?:or)?s?|warn(?:ing)?s?|log(?:ger|ging)?", re.IGNORECASE)
_LOG = re.compile(r"_*(?:log|logger|logging|console|warnings)", re.IGNORECASE)
_OF_NUMBERS = {"math", "np", "numpy", "Math"}  # modules with logarithms


def is_telling(name: str) -> bool:
    """Return True if a function, by its dotted name, is named for errors or logs, or a log's."""
    *owners, last = re.split(r"\W+", name.strip())
    if owners and (_LOG.fullmatch(owners[-1]) or owners[-1] in _OF_NUMBERS):
        return owners[-1] not in _OF_NUMBERS
    return any(map(_TELLING.fullmatch, _WORD.findall(last)))
