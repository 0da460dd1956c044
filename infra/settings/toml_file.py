"""The settings file: TOML, which may hold anything."""

import re
import tomllib
from pathlib import Path
from typing import Any

from infra.errors import SettingsError

_MANY_DIGITS = re.compile(r"[0-9a-fA-F_]{1000}")  # no number has so many, and Python prints none
# A key of so many parts: Python's parser takes memory that grows with their number squared.
_DEEP_KEY = re.compile(r"""(?:[\w"'-]{1,99}\s{0,9}\.\s{0,9}){50}""")


def read_toml(file: Path) -> dict[str, Any]:
    """Return a file's content.

    Raises:
        SettingsError: It cannot be read, or is no TOML with numbers that can be printed.
    """
    try:
        text = file.read_bytes().decode("utf-8")
        if _DEEP_KEY.search(text):
            raise RecursionError  # noqa: TRY301
        content = tomllib.loads(text)
        str(content)
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise SettingsError(f"{file} is not valid TOML: it is nested too deeply") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}") from None
    except ValueError:
        digits = _MANY_DIGITS.search(text)
        line = text.count("\n", 0, digits.start()) + 1 if digits else 1
        raise SettingsError(f"{file}:{line}: a number of thousands of digits: shorten it") from None
    return content
