"""Presets: the settings of published benchmarks, one TOML file each, named like the preset.

A file has ``about``, a line for help texts, sections as in ``cosqa.toml``, and ``published``, which
says where what it needs is to be had. To add a preset, add a file: its values lie above the
defaults and below the settings file, the environment and the command line.
"""

import difflib
import tomllib
from importlib.resources import files
from typing import Any, NamedTuple

from pydantic_settings import BaseSettings, InitSettingsSource

from infra.errors import SettingsError

_SUFFIX = ".toml"


class Preset(NamedTuple):
    """A named set of settings.

    Attributes:
        name: How it is chosen.
        about: What it builds, in one line.
        published: Source, encoder or "model" → where it is published.
        sections: Section → key → value.
    """

    name: str
    about: str
    published: dict[str, str]
    sections: dict[str, dict[str, Any]]


def preset_names() -> list[str]:
    """Return the names of all presets, in alphabetical order."""
    found = (entry.name for entry in files(__name__).iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX))


def load_preset(name: str) -> Preset:
    """Return a preset.

    Raises:
        SettingsError: There is none of that name.
    """
    known = preset_names()
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
        raise SettingsError(f"there is no preset {name!r}; {hint}")
    sections = tomllib.loads((files(__name__) / f"{name}{_SUFFIX}").read_text("utf-8"))
    return Preset(name, sections.pop("about"), sections.pop("published"), sections)


class PresetSource(InitSettingsSource):
    """The settings of the preset that a higher layer of the settings chose, if one did."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        super().__init__(settings_cls, {})

    def __call__(self) -> dict[str, Any]:
        """Return the preset's sections.

        Raises:
            SettingsError: There is no such preset.
        """
        chosen = self.current_state.get("preset")
        return dict(load_preset(str(chosen)).sections) if chosen else {}
