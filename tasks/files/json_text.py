"""Decoding of JSON from files written by hand, with errors that name the place."""

import json
import re
from itertools import islice

from infra.errors import SourceError

_MANY_DIGITS = re.compile(r"\d{4301}")  # Python's limit of the digits of an integer is 4,300


_TEXT_OR_END = re.compile(r'"(?:[^"\\]|\\.)*"|\}')


class _RepeatedKeyError(ValueError):
    """An object has a key twice: which of those that end in the text, and the key."""


class _Objects:
    """Makes the objects of a text in the order in which they end."""

    made = 0

    def distinct(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        """Return an object without repeated keys."""
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = next(key for key in found if keys.count(key) > 1)
            raise _RepeatedKeyError(self.made, repeated)
        self.made += 1
        return found


def _line_of_end(text: str, number: int) -> int:
    """Return the line in which an object of a text ends."""
    ends = (found.start() for found in _TEXT_OR_END.finditer(text) if found[0] == "}")
    return text.count("\n", 0, next(islice(ends, number, None))) + 1


def decode_json(text: str, file: str, line: int | None = None) -> object:
    """Return the value of a JSON text.

    Args:
        text: The text.
        file: The file that holds it, for messages.
        line: The number of its line, where the text is one line of the file; otherwise messages
            count lines from the text's first.

    Raises:
        SourceError: The text is not JSON, is nested too deeply, or holds a key twice, half of a
            surrogate pair or a number of thousands of digits.
    """
    place = file if line is None else f"{file}:{line}"
    try:
        value = json.loads(text, object_pairs_hook=_Objects().distinct)
        json.dumps(value, ensure_ascii=False).encode()
    except _RepeatedKeyError as error:
        number, key = error.args
        raise SourceError(
            f"{file}:{line or _line_of_end(text, number)}: an object has the key {key!r} twice: "
            "keep the one that is meant"
        ) from None
    except json.JSONDecodeError as error:
        raise SourceError(
            f"{file}:{line or error.lineno}: column {error.colno}: {error.msg}: this is no "
            "complete JSON; the file may be truncated"
        ) from None
    except UnicodeEncodeError:
        raise SourceError(
            f"{place}: half of a surrogate pair (\\ud800 to \\udfff) is no character: remove it"
        ) from None
    except RecursionError:
        raise SourceError(f"{place}: nested too deeply: write flat JSON") from None
    except ValueError:
        digits = _MANY_DIGITS.search(text)
        before = text.count("\n", 0, digits.start()) if digits else 0
        raise SourceError(
            f"{file}:{line or before + 1}: a number of more than 4,300 digits: shorten it"
        ) from None
    return value
