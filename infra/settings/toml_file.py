"""The settings file: TOML, which may hold anything, and what that of a working folder decides.

Whoever sent the folder may have written its files. A settings file that the user names by
COSQA_CONFIG is the user's own, as the environment is.
"""

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from infra.errors import SettingsError

_MANY_DIGITS = re.compile(r"[0-9a-fA-F_]{1000}")  # no number has so many, and Python prints none
# A key of so many parts: Python's parser takes memory that grows with their number squared.
_DEEP_KEY = re.compile(r"""(?:[\w"'-]{1,99}\s{0,9}\.\s{0,9}){50}""")
_DIRECTING: Mapping[str, tuple[str, ...]] = {  # section → what says who is asked and what runs
    "llm": ("base_url",),
    "encoder": ("base_url", "checkpoints"),
    "ray": ("address",),
    "sandbox": ("image", "backend", "runtime", "index_hosts", "accept_without"),
}
_KEY = re.compile(r"(?!COSQA_|PREFECT_)\w*API_?KEY$")
# Providers whose requests are signed by these, whatever key is given with the address.
_SIGNING = re.compile(
    r"(AWS|AZURE|DATABRICKS|GOOGLE|VERTEX\w*|WATSONX\w*)_\w*(KEY|TOKEN|SECRET|PASS|CREDENTIAL)"
)


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


def check_directions(
    file: Path,
    content: Mapping[str, Any],
    fields: Mapping[str, FieldInfo],
    *others: Mapping[str, Any],
) -> None:
    """Tell of what the working folder's file alone directs; keep others' keys from its addresses.

    Args:
        file: The settings file.
        content: Section → key → value of it.
        fields: Section → its field, which has the default.
        others: The same of the user's own sources: the command line and the environment.

    Raises:
        SettingsError: A key that the file does not hold would go to an address that it alone names.
    """
    for section, keys in _DIRECTING.items():
        given: Mapping[str, Any] = content.get(section) or {}
        for key in keys if isinstance(given, Mapping) else ():
            if key not in given or any(_has(other, section, key) for other in others):
                continue
            default = getattr(fields[section].default, key)
            if json.dumps(given[key], default=str) == json.dumps(default):
                continue
            place = f"{file}{_line_of(file, key)}"
            held = next(_keys_beside(section, given, others), "") if key == "base_url" else ""
            if held:
                raise SettingsError(
                    f"{place}: {section}.base_url = {given[key]!r} would be sent the key in "
                    f"{held}, which this file does not hold: if you trust that address, set "
                    f"COSQA_{section.upper()}__BASE_URL to it, or COSQA_CONFIG={file}; else remove "
                    "the line"
                )
            _tell(f"{place} decides that {section}.{key} = {given[key]!r}")


def _has(source: Mapping[str, Any], section: str, key: str) -> bool:
    """Return True if a source has a setting; a section that is no table is whole."""
    found = source.get(section, {})
    return key in found if isinstance(found, Mapping) else True


def _keys_beside(
    section: str, given: Mapping[str, Any], others: tuple[Mapping[str, Any], ...]
) -> Iterator[str]:
    """Yield where keys are that would be sent to the address of a file's section."""
    variable = f"COSQA_{section.upper()}__API_KEY"
    for key in ("api_key", "api_key_block"):
        if any(_has(other, section, key) for other in others):
            yield variable if key == "api_key" else f"{section}.{key}"
    if not given.get("api_key"):
        if given.get("api_key_block"):
            yield f"Prefect's block {given['api_key_block']!r}"
        yield from sorted(name for name in os.environ if _KEY.match(name.upper()))
    yield from sorted(name for name in os.environ if _SIGNING.match(name.upper()))


def _line_of(file: Path, key: str) -> str:
    pattern = re.compile(rf"""^\s*([\w"'-]+\s*\.\s*)?["']?{key}["']?\s*=""")
    lines = file.read_text("utf-8").splitlines()
    return next((f":{n}" for n, line in enumerate(lines, 1) if pattern.match(line)), "")


@cache
def _tell(sentence: str) -> None:
    """Write a sentence to the terminal, once however often settings are loaded."""
    sys.stderr.write(f"{sentence}\n")
