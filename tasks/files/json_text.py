"""Decoding of JSON from files written by hand, with errors that name the place."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from infra.errors import SourceError

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]+")
_CLOSED = re.compile(r"][ \t\n\r]*\Z")
_MANY_DIGITS = re.compile(r"\d{4301}")  # Python's limit of the digits of an integer is 4,300


def decode_json(text: str, file: str, line: int | None = None) -> object:
    """Return the value of a JSON text.

    Args:
        text: The text.
        file: The file that holds it, for messages.
        line: The number of its line, where the text is one line of the file; otherwise messages
            count lines from the text's first.

    Raises:
        SourceError: The text is not JSON, is nested too deeply, or holds half of a surrogate pair
            or a number of thousands of digits.
    """
    with _named(text, file, line):
        return _checked(json.loads(text))


def decode_items(text: str, file: str) -> Iterator[object]:
    """Yield the items of a JSON array, each as it is decoded: they need not fit into memory.

    Args:
        text: The text of the array.
        file: The file that holds it, for messages.

    Raises:
        SourceError: As for `decode_json`, after the items before.
    """
    end = _space(text, text.index("[") + 1)
    is_last = _is_closed(text, end)
    while not is_last:
        with _named(text, file):
            value, end = _DECODER.raw_decode(text, end)
            _checked(value)
            end = _space(text, end)
            is_last = _is_closed(text, end)
            if not is_last and text[end : end + 1] != ",":
                raise json.JSONDecodeError("Expecting ',' delimiter", text, end)
        yield value
        end = _space(text, end + 1)


def _space(text: str, start: int) -> int:
    """Return where white space ends."""
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _is_closed(text: str, start: int) -> bool:
    return _CLOSED.match(text, start) is not None


def _checked(value: object) -> object:
    """Return a value; half of a surrogate pair in it raises a `UnicodeEncodeError`."""
    json.dumps(value, ensure_ascii=False).encode()
    return value


@contextmanager
def _named(text: str, file: str, line: int | None = None) -> Iterator[None]:
    """Turn what decoding raises into a `SourceError` with the place."""
    place = file if line is None else f"{file}:{line}"
    try:
        yield
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
