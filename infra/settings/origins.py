"""Origins of settings, ``COSQA_*`` variables and the file, and messages on what is refused there.

Of variables, lists need no JSON, and unknown names are refused. The file is TOML, which may hold
anything. Whoever sent a working folder may have written its files, which therefore decide little; a
settings file that the user names by COSQA_CONFIG is the user's own, as the environment is.
"""

import difflib
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import combinations
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import EnvSettingsSource

from infra.errors import SettingsError
from infra.secrets import holds_a_secret

PREFIX = "COSQA_"
DELIMITER = "__"
_LONGEST = 200  # characters of a value that are shown
_OTHER_VARIABLES = frozenset(  # read elsewhere: this package, set-up scripts, Compose, tests
    {
        "COSQA_CASES",
        "COSQA_CONFIG",
        "COSQA_DATA",
        "COSQA_FOLDER",
        "COSQA_LOCAL_MODEL",
        "COSQA_NIGHT",
        "COSQA_PRESET",
        "COSQA_REQUIRE_DOCKER",
        "COSQA_SCREENSHOTS",
    }
)
_PYDANTIC_BEGINS = re.compile(r"^(Value error, )?((Input|String|Tuple|List) should )?")
_NUMBERS: Mapping[object, str] = {int: "a whole number", float: "a number"}
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


class EnvironmentSource(EnvSettingsSource):
    """The environment; a list is JSON or names with commas between.

    White space around a value is no part of it: files written on Windows leave it there.
    """

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {name: value and value.strip() for name, value in super()._load_env_vars().items()}

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:  # noqa: ANN401
        """Return a list or a section from a variable's text.

        Raises:
            SettingsError: It looks like JSON and is not.
        """
        try:
            decoded = super().decode_complex_value(field_name, field, value)
            str(decoded)  # a number that cannot be printed
        except (ValueError, RecursionError):
            if is_list(field) and not value.startswith(("[", "{")):
                return [name.strip() for name in value.split(",") if name.strip()]
        else:
            return decoded
        names = [name for name in os.environ if name.upper().startswith(PREFIX)]
        found = next((name for name in names if os.environ[name].strip() == value), PREFIX)
        # A whole section, as JSON, may hold a key.
        is_shown = DELIMITER in found and "KEY" not in found.upper()
        shown = f"{found}={value[:_LONGEST]}" if is_shown else found
        form = 'write it as JSON, such as {"outdated": 500}'
        if is_list(field):
            form = (
                "write names with commas between, such as minilm,codebert, or JSON, such as "
                '["minilm", "codebert"]'
            )
        raise SettingsError(f"{shown} is not valid JSON: {form}") from None


def is_list(field: FieldInfo | None) -> bool:
    """Return True if a setting has several values."""
    annotation = field.annotation if field else None
    return any(get_origin(one) is tuple for one in (annotation, *get_args(annotation)))


def variable_name(section: str, key: str = "") -> str:
    """Return the name of the variable that is set for a setting, "" where none is."""
    possible = f"{PREFIX}{section}{DELIMITER}{key}".upper() if key else f"{PREFIX}{section}".upper()
    return next((name for name in os.environ if name.upper() == possible), "")


def refuse_wrong_variables(settings: Iterable[tuple[str, str]]) -> None:
    """Refuse a misspelt ``COSQA_*`` variable, and one that would be dropped without a word.

    Ignored, a budget would be none.

    Args:
        settings: Section and key of every setting.

    Raises:
        SettingsError: There is one; the message names it and, if possible, the right one. Or a
            variable is set in two spellings, or beside one for a part of its value.
    """
    variables = {f"{PREFIX}{section}{DELIMITER}{key}".upper() for section, key in settings}
    sections = {name.partition(DELIMITER)[0] for name in variables}
    unknown = [
        name
        for name in sorted(os.environ)
        if name.upper().startswith(PREFIX)
        and name.upper() not in _OTHER_VARIABLES
        and name.upper().partition(DELIMITER)[0] not in sections
    ]
    lines = []
    for name in unknown:
        close = difflib.get_close_matches(name.upper(), [*variables, *_OTHER_VARIABLES], 1, 0.75)
        hint = f"did you mean {close[0]}?" if close else "`cosqa settings` lists all settings"
        lines.append(f"{name} is unknown; {hint}")
    if lines:
        raise SettingsError("invalid environment variables:\n  " + "\n  ".join(lines))
    found = (name for name in os.environ if name.upper().startswith(PREFIX))
    for name, other in combinations(sorted(found, key=str.upper), 2):
        is_part = name.upper() in variables and other.upper().startswith(
            f"{name.upper()}{DELIMITER}"
        )
        if is_part or name.upper() == other.upper():
            raise SettingsError(
                f"{name} and {other} are both set, and only one can count: unset the other"
            )


def read_toml(file: Path) -> dict[str, Any]:
    """Return a file's content.

    Raises:
        SettingsError: It cannot be read, or is no TOML with numbers that can be printed.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
        if _DEEP_KEY.search(text):
            raise RecursionError  # noqa: TRY301
        if "\0" in text:  # UTF-16 without its mark
            raise SettingsError(f"{file} is not valid TOML, which is UTF-8: save it as UTF-8")
        content = tomllib.loads(text)
        str(content)
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise SettingsError(f"{file} is not valid TOML: it is nested too deeply") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{file} is not valid TOML, which is UTF-8: save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file} is not valid TOML: {error}") from None
    except ValueError:
        digits = _MANY_DIGITS.search(text)
        line = text.count("\n", 0, digits.start()) + 1 if digits else 1
        raise SettingsError(f"{file}:{line}: a number of thousands of digits: shorten it") from None
    return content


def check_sections(file: Path, content: Mapping[str, Any], sections: Iterable[str]) -> None:
    """Refuse a value where a section belongs, which options of the command line would cover.

    Raises:
        SettingsError: There is one; it is not shown, since it may be a key.
    """
    for name in sections:
        if not isinstance(content.get(name, {}), Mapping):
            raise SettingsError(
                f"invalid settings:\n  {name} ({file}): must be a section: write [{name}] and its "
                "settings below it, or remove the line"
            )


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
            pattern = re.compile(rf"""^\s*([\w"'-]+\s*\.\s*)?["']?{key}["']?\s*=""")
            lines = enumerate(file.read_text("utf-8-sig").splitlines(), 1)
            place = next((f"{file}:{n}" for n, line in lines if pattern.match(line)), str(file))
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


@cache
def _tell(sentence: str) -> None:
    """Write a sentence to the terminal, once however often settings are loaded."""
    sys.stderr.write(f"{sentence}\n")


def problem_line(
    problem: ErrorDetails,
    model: type[BaseModel],
    given: Mapping[str, Mapping[str, object]],
    file: Path,
) -> str:
    """Return one line about a refused setting.

    Args:
        problem: What pydantic says of it.
        model: The settings.
        given: Section → key → value from the command line.
        file: The settings file, which need not exist.
    """
    section, *keys = map(str, problem["loc"])
    key = keys[0] if keys else ""
    origin = variable_name(section, key) or variable_name(section)
    if key in given.get(section, {}):
        origin = "command line"
    elif not origin and file.is_file() and section in read_toml(file):
        origin = str(file)
    if problem["type"] == "extra_forbidden":
        return _unknown(section, key, origin, model)
    name = f"{section}.{key}" if key else section
    text = str(problem["input"])
    is_secret = key == "api_key" or holds_a_secret(text) or (key == "base_url" and "@" in text)
    given_text = repr(text if isinstance(problem["input"], Path) else problem["input"])
    shown = given_text if len(given_text) <= _LONGEST else f"{given_text[:_LONGEST]}..."
    told = name if not key or is_secret else f"{name} = {shown}"
    field = _fields(model, section).get(key)
    place = f" ({origin})" if origin else ""
    # The names that a value may be, none where it may be other things too.
    expected = str(problem.get("ctx", {}).get("expected", ""))
    allowed = re.findall(r"'([^']*)'", expected) if problem["type"] == "literal_error" else []
    meant = difflib.get_close_matches(text, allowed, 1)
    hint = f"; did you mean {meant[0]}?" if meant else ""
    # Pydantic's message in words that fit behind a value.
    said = _PYDANTIC_BEGINS.sub(lambda match: "must " if match[2] else "", problem["msg"], count=1)
    return f"{told}{place}: {(_number(field) if field else '') or said}{hint}"


def _unknown(section: str, key: str, origin: str, model: type[BaseModel]) -> str:
    """Return that there is no such section or key, and the one that was probably meant."""
    if not key:
        close = difflib.get_close_matches(section, model.model_fields, 1)
        hint = f"did you mean [{close[0]}]?" if close else "`cosqa settings` lists all sections"
        return f"[{section}]{f' in {origin}' if origin else ''} is no section; {hint}"
    close = difflib.get_close_matches(key, _fields(model, section), 1)
    hint = f"did you mean {section}.{close[0]}?" if close else "`cosqa settings` lists all settings"
    return f"{section}.{key} is no setting{f' (from {origin})' if origin else ''}; {hint}"


def _fields(model: type[BaseModel], section: str) -> dict[str, FieldInfo]:
    found = model.model_fields.get(section)
    return getattr(type(found.default), "model_fields", {}) if found else {}


def _number(field: FieldInfo) -> str:
    """Return the bounds of a number in words, "" where the setting is no number."""
    union = get_args(field.annotation) if isinstance(field.annotation, UnionType) else ()
    kind = next((_NUMBERS[one] for one in (field.annotation, *union) if one in _NUMBERS), "")
    low = next((bound.ge for bound in field.metadata if isinstance(bound, Ge)), None)
    above = next((bound.gt for bound in field.metadata if isinstance(bound, Gt)), None)
    high = next((bound.le for bound in field.metadata if isinstance(bound, Le)), None)
    if not kind or (low is None and above is None):
        return ""
    lower = f"of at least {low}" if above is None else f"above {above}"
    if high is not None:
        lower = f"of {low} to {high}" if above is None else f"{lower} and at most {high}"
    return f"must be {kind} {lower}"
