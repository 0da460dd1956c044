"""Messages about settings that are refused: which value, where it was given, what is allowed."""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import get_args

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from infra.secrets import holds_a_secret
from infra.settings.origins import read_toml, variable_name

_LONGEST = 200
_BEGINS = re.compile(r"^(Value error, )?((Input|String|Tuple|List) should )?")
_NUMBERS: Mapping[object, str] = {int: "a whole number", float: "a number"}


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
    said = _BEGINS.sub(lambda match: "must " if match[2] else "", problem["msg"], count=1)
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
