"""All settings as a commented TOML file, made from the classes themselves."""

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefinedType

from infra.settings import Settings
from infra.settings.presets import load_preset

_WIDTH = 96


def settings_reference(settings: Settings, source_options: type[BaseModel] | None = None) -> str:
    """Return the settings in force as TOML, each with its description.

    Defaults are commented out, so that a file of them holds for other machines and releases too.
    Secrets are left out: they belong in the environment, not in a file.

    Args:
        settings: The settings.
        source_options: Model of the chosen source's options.
    """
    text = []
    if settings.preset:
        text.append(f"# {load_preset(settings.preset).about}\npreset = {_toml(settings.preset)}\n")
    for name in Settings.sections():
        section = getattr(settings, name)
        about = (type(section).__doc__ or "").partition("\n")[0]
        lines = [f"[{name}]  # {about}"]
        for key, field in type(section).model_fields.items():
            lines.append(_field(key, field, getattr(section, key)))
        if name == "source" and source_options is not None:
            for key, field in source_options.model_fields.items():
                value = settings.source.options.get(key, field.get_default())
                lines.append(_field(key, field, value))
            # Options of sources that are put together are dotted keys.
            for part, options in settings.source.options_of_parts.items():
                lines += [f"{part}.{key} = {_toml(value)}" for key, value in options.items()]
        text.append("\n".join([*lines, ""]))
    return "\n".join(text)


def lasting_settings(given: Mapping[str, Mapping[str, object]], preset: str | None) -> str:
    """Return section → key → value as TOML, without what is None."""
    text = [f"preset = {_toml(preset)}"] if preset else []
    for section, fields in given.items():
        lines = [f"{key} = {_toml(value)}" for key, value in fields.items() if value is not None]
        text += [f"[{section}]", *lines] if lines else []
    return "\n".join([*text, ""])


def _field(key: str, field: FieldInfo, value: object) -> str:
    about = textwrap.wrap(
        field.description or "", _WIDTH, initial_indent="# ", subsequent_indent="# "
    )
    can_be_set = value is not None and not isinstance(value, SecretStr | PydanticUndefinedType)
    setting = f"{key} = {_toml(value)}" if can_be_set else f"{key} ="
    is_chosen = can_be_set and value != field.get_default()
    return "\n".join([*about, setting if is_chosen else f"# {setting}"])


def _toml(value: object) -> str:
    """Return a value as TOML writes it: but for tables of names, as JSON does."""
    if isinstance(value, Mapping):
        pairs = (f"{_toml(str(key))} = {_toml(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
