"""Decoding of JSON from files written by hand, with errors that name the place."""

import json
import re

from infra.errors import SourceError

_MANY_DIGITS = re.compile(r"\d{4301}")  # Python's limit of the digits of an integer is 4,300


class _RepeatedKeyError(ValueError):
    """An object has a key twice."""


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKeyError(next(key for key in found if keys.count(key) > 1))
    return found


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
        value = json.loads(text, object_pairs_hook=_distinct)
        json.dumps(value, ensure_ascii=False).encode()
    except _RepeatedKeyError as error:
        raise SourceError(
            f"{place}: an object has the key {error.args[0]!r} twice: keep the one that is meant"
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
