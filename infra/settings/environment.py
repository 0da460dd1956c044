"""Settings from ``COSQA_*`` variables: lists without JSON, and unknown names refused."""

import difflib
import json
import os
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_settings import EnvSettingsSource

from infra.errors import SettingsError

PREFIX = "COSQA_"
DELIMITER = "__"
_LONGEST = 200  # characters of a value that are shown
_OTHER_VARIABLES = frozenset(  # read elsewhere: this package, set-up scripts, Compose, tests
    {
        "COSQA_CASES",
        "COSQA_CONFIG",
        "COSQA_DATA",
        "COSQA_FOLDER",
        "COSQA_NIGHT",
        "COSQA_PRESET",
        "COSQA_REQUIRE_DOCKER",
        "COSQA_SCREENSHOTS",
    }
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
        raise SettingsError(f"{_variable_of(value)} is not valid JSON: {_form_of(field)}") from None


def _form_of(field: FieldInfo) -> str:
    """Return a value's notation."""
    if not is_list(field):
        return f"write it as JSON, such as {json.dumps({'stale': 500})}"
    listed = ["minilm", "codebert"]
    return (
        f"write names with commas between, such as {','.join(listed)}, or JSON, such as "
        f"{json.dumps(listed)}"
    )


def is_list(field: FieldInfo | None) -> bool:
    """Return True if a setting has several values."""
    annotation = field.annotation if field else None
    return any(get_origin(one) is tuple for one in (annotation, *get_args(annotation)))


def _variable_of(value: str) -> str:
    names = [name for name in os.environ if name.upper().startswith(PREFIX)]
    found = next((name for name in names if os.environ[name].strip() == value), PREFIX)
    # A whole section, as JSON, may hold a key.
    is_shown = DELIMITER in found and "KEY" not in found.upper()
    return f"{found}={value[:_LONGEST]}" if is_shown else found


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
