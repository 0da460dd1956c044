"""Ways in which a model writes a value or a call beside the one that it was told."""

import re

_WORDS = {"true": "True", "false": "False", "null": "None"}
_ERROR = re.compile(
    r"(?:raises? (?:an? )?([A-Za-z_][\w.]*)|([A-Za-z_][\w.]*(?:Error|Exception)|StopIteration))"
    r"(?:\s*\(.*\))?\.?"
)


def spelt(value: str) -> str:
    """Return a value as it would be told: without marks of code and what stands behind it.

    An exception's name alone, or with a message, is that the call raises it.
    """
    text = value.strip().strip("`").strip().rstrip(",;").rstrip()
    if found := _ERROR.fullmatch(text):
        return f"raises {found[1] or found[2]}"
    return _WORDS.get(text, text)
