"""All settings as a commented TOML file, made from the classes themselves."""

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefinedType

from infra.settings import Section, Settings
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
    names = list(Settings.sections())
    text = [_section(name, getattr(settings, name)) for name in names]
    if source_options is not None:
        place = names.index("source")
        text[place] += _options(source_options, settings.source.options)
        text[place] += _options_of_parts(settings.source.options_of_parts)
    if settings.preset:
        text.insert(
            0, f"# {load_preset(settings.preset).about}\npreset = {_toml(settings.preset)}\n"
        )
    return "\n".join(text)


def lasting_settings(given: Mapping[str, Mapping[str, object]], preset: str | None) -> str:
    """Return section → key → value as TOML, without what is None."""
    text = [f"preset = {_toml(preset)}"] if preset else []
    for section, fields in given.items():
        lines = [f"{key} = {_toml(value)}" for key, value in fields.items() if value is not None]
        text += [f"[{section}]", *lines] if lines else []
    return "\n".join([*text, ""])


def _section(name: str, section: Section) -> str:
    about = (type(section).__doc__ or "").partition("\n")[0]
    fields = type(section).model_fields.items()
    lines = [_field(key, field, getattr(section, key)) for key, field in fields]
    return "\n".join([f"[{name}]  # {about}", *lines, ""])


def _options(model: type[BaseModel], given: dict[str, object]) -> str:
    lines = []
    for key, field in model.model_fields.items():
        lines.append(_field(key, field, given.get(key, field.get_default())))
    return "\n".join([*lines, ""])


def _options_of_parts(given: Mapping[str, Mapping[str, object]]) -> str:
    """Return the options of sources that are put together, as dotted keys."""
    return "".join(
        f"{name}.{key} = {_toml(value)}\n"
        for name, options in given.items()
        for key, value in options.items()
    )


def _field(key: str, field: FieldInfo, value: object) -> str:
    about = textwrap.wrap(
        field.description or "", _WIDTH, initial_indent="# ", subsequent_indent="# "
    )
    setting = f"{key} = {_toml(value)}" if _settable(value) else f"{key} ="
    is_chosen = _settable(value) and value != field.get_default()
    return "\n".join([*about, setting if is_chosen else f"# {setting}"])


def _settable(value: object) -> bool:
    return value is not None and not isinstance(value, SecretStr | PydanticUndefinedType)


def _toml(value: object) -> str:
    """Return a value as TOML writes it: but for tables of names, as JSON does."""
    if isinstance(value, Mapping):
        pairs = (f"{_toml(str(key))} = {_toml(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
