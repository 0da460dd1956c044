"""Options that are given as pairs: those of sources, and folders with names."""

from collections.abc import Mapping, Sequence

from infra.errors import SettingsError

# Settings of every source that are not options of one.
_OWN_FLAGS = {
    "name": "--source",
    "collection": "--collection",
    "codes": "--codes",
    "reread": "--reread",
}


def source_options(given: Mapping[str, object], pairs: Sequence[str]) -> dict[str, object]:
    """Return a source's options from its own flags and from ``--source-option KEY=VALUE``."""
    options = {key: value for key, value in given.items() if value is not None}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise SettingsError(f"--source-option {pair} has no value: write {pair}=VALUE")
        if key in _OWN_FLAGS:
            raise SettingsError(
                f"--source-option {pair} is not an option of a source: use {_OWN_FLAGS[key]}"
            )
        part, dot, name = key.partition(".")
        place = options.setdefault(part, {}) if dot else options
        if not isinstance(place, dict) or (name or key) in place:
            raise SettingsError(f"the source option {key!r} is given twice: leave one out")
        place[name or key] = value
    return options


def named_folders(option: str, pairs: Sequence[str]) -> dict[str, str] | None:
    """Return name → folder of an option's values ``NAME=FOLDER``; None where there are none."""
    folders = {}
    for pair in pairs:
        name, equals, folder = pair.partition("=")
        if not equals or not folder:
            raise SettingsError(f"{option} {pair} has no folder: write {option} {name}=FOLDER")
        folders[name] = folder
    return folders or None
