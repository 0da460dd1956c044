"""All settings as a commented TOML file, made from the classes themselves."""

import json
import textwrap
from pathlib import Path

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from infra.settings import Section, Settings

_WIDTH = 96


def settings_reference(settings: Settings) -> str:
    """Return the settings in force as TOML, each with its description.

    Secrets are left out: they belong in the environment, not in a file.
    """
    sections = ((name, getattr(settings, name)) for name in Settings.model_fields)
    return "\n".join(_section(name, section) for name, section in sections)


def _section(name: str, section: Section) -> str:
    about = (type(section).__doc__ or "").partition("\n")[0]
    fields = type(section).model_fields.items()
    lines = [_field(key, field, getattr(section, key)) for key, field in fields]
    return "\n".join([f"[{name}]  # {about}", *lines, ""])


def _field(key: str, field: FieldInfo, value: object) -> str:
    told = textwrap.wrap(
        field.description or "", _WIDTH, initial_indent="# ", subsequent_indent="# "
    )
    return "\n".join([*told, f"{key} = {_toml(value)}" if _settable(value) else f"# {key} ="])


def _settable(value: object) -> bool:
    return value is not None and not isinstance(value, SecretStr)


def _toml(value: object) -> str:
    """Return a value as TOML writes it, which for these types is JSON."""
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
