"""The base of all sections of the settings."""

import json
import warnings
from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from infra.secrets import holds_a_secret


class Section(BaseModel):
    """Base of all sections: frozen, unknown keys refused, and so are numbers without an end.

    A limit of ``inf`` or ``nan`` would be none, in silence. What settings say is stored, printed
    and published, so that no address in them may hold a password.

    Attributes:
        former_names: Key of the last release → its name in this one; taken with a warning.
        retired_names: Key of the last release that has no effect any more → why; left out with a
            warning.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    former_names: ClassVar[Mapping[str, str]] = {}
    retired_names: ClassVar[Mapping[str, str]] = {}

    @field_validator("*")
    @classmethod
    def _refuse_secrets(cls, value: object) -> object:
        if holds_a_secret(str(value)):
            raise ValueError(
                "an address must have no user, password or key in it, as it is stored and printed; "
                "a key is given as COSQA_LLM__API_KEY or COSQA_ENCODER__API_KEY"
            )
        return value

    @model_validator(mode="before")
    @classmethod
    def _take_former_names(cls, values: object) -> object:
        """Rename keys of the last release; where old and new are given, the old one is refused."""
        if not isinstance(values, Mapping):
            return values
        renamed = dict(values)
        for former, name in cls.former_names.items():
            if former in renamed and name not in renamed:
                warnings.warn(
                    f"the setting {former!r} is called {name!r} now; the next release will refuse "
                    "the old name",
                    FutureWarning,
                    stacklevel=2,
                )
                value = renamed.pop(former)
                # Of a variable with a former name it is not known that it holds a list.
                is_list = isinstance(value, str) and value.startswith("[")
                renamed[name] = json.loads(value) if is_list else value
        return cls._without_retired(renamed)

    @classmethod
    def _without_retired(cls, values: dict[object, object]) -> dict[object, object]:
        """Return values without the keys that have no effect any more."""
        for name, reason in cls.retired_names.items():
            if name in values:
                del values[name]
                warnings.warn(
                    f"the setting {name!r} has no effect any more: {reason}; the next release will "
                    "refuse it",
                    FutureWarning,
                    stacklevel=3,
                )
        return values
