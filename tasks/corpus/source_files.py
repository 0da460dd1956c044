"""Sets of source files: a folder, an installed distribution or the standard library.

Repositories come by their popularity and their use by others, as libraries.io counts them. As in
Husain et al., "CodeSearchNet Challenge" (2019), section 2, they are no forks, are used by at least
one other project, and come in the order of their stars and forks.
"""

import importlib.metadata
import os
import platform
import sysconfig
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from infra.errors import SettingsError, SourceError
from infra.files import leads_outside
from infra.languages import Language, languages
from infra.records import SourceInfo
from tasks.benchmarks import licences
from tasks.benchmarks.splits import SPLITS
from tasks.inputs.tables import stream_rows
from tasks.inputs.text import printable

_TESTS = frozenset({"test", "tests", "idle_test"})
_INSTALLED = frozenset({"site-packages", "dist-packages"})


@dataclass(frozen=True)
class SourceFiles:
    """Files below one folder.

    Attributes:
        root: The folder from which modules are named.
        files: The files in alphabetical order.
        licence: Their licence, "unknown" where it is not stated.
        revision: Their version, "unknown" where it is not stated.
        location: Where they come from, for reports.
        languages: How the names of the files end → their language.
        outside: Links that are left out: they lead outside of the folder, or nowhere.
        own_licences: Folders with a licence text of their own below the root → their licence.
        unread: Other known languages → number of their files in the folder.
    """

    root: Path
    files: tuple[Path, ...]
    licence: str
    revision: str
    location: str
    languages: Mapping[str, Language]
    outside: tuple[Path, ...] = ()
    own_licences: Mapping[Path, str] = field(default_factory=dict)
    unread: Mapping[str, int] = field(default_factory=dict)

    def licence_of(self, file: Path) -> str:
        """Return the licence of a folder around a file, "" where that of all files covers it."""
        return next((self.own_licences[at] for at in file.parents if at in self.own_licences), "")

    @property
    def holds_repositories(self) -> bool:
        """Return True if all files lie in folders of the root, which are enough for three parts."""
        tops = {file.relative_to(self.root).parts[:-1][:1] for file in self.files}
        return () not in tops and len(tops) >= len(SPLITS)

    def info(self, name: str) -> SourceInfo:
        """Return origin and licence of the files as a record."""
        return SourceInfo(
            name=name, licence=self.licence, revision=self.revision, location=self.location
        )


def standard_library() -> SourceFiles:
    """Return the running interpreter's standard library without its tests."""
    root = Path(sysconfig.get_paths()["stdlib"])
    python = languages_of(("python",))
    files, outside, _ = _below(root, _TESTS | _INSTALLED, python)
    version, place = platform.python_version(), "standard library of CPython"
    return SourceFiles(root, files, "PSF-2.0", version, place, python, outside)


def installed(name: str, chosen: Mapping[str, Language]) -> SourceFiles:
    """Return the files of an installed distribution without its tests.

    Args:
        name: The distribution's name.
        chosen: How the names of the wanted files end → their language.

    Raises:
        SettingsError: No such distribution is installed.
        SourceError: It has no such files.
    """
    try:
        distribution = importlib.metadata.distribution(name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        raise SettingsError(
            f"distribution {name!r} is not installed: install it into this environment, or give "
            "--path with a folder of files"
        ) from None
    root = Path(str(distribution.locate_file("")))
    files = sorted(
        root / file
        for file in distribution.files or ()
        if file.suffix in chosen and all(_is_kept(part, _TESTS) for part in file.parts[:-1])
    )
    if not files:
        raise SourceError(
            f"distribution {name} lists no {_named(chosen)} (editable installations do not): give "
            "--path with their folder"
        )
    # The licence that it states, by SPDX's name where one can be recognised.
    metadata = distribution.metadata
    stated = [*_all(metadata, "License-Expression"), *_all(metadata, "License")]
    classified = [line for line in _all(metadata, "Classifier") if line.startswith("License :: ")]
    short = [text for text in stated if "\n" not in text]
    licence = next(iter([*short, *(line.rpartition(" :: ")[2] for line in classified)]), "unknown")
    if not licences.permits_redistribution(licence):
        paths = (Path(str(distribution.locate_file(file))) for file in distribution.files or ())
        found = licences.licence_of([licence, *stated, *licences.licence_texts(paths)])
        licence = licence if found == licences.UNKNOWN else found
    place = f"distribution {distribution.name}"
    return SourceFiles(root, tuple(files), licence, distribution.version, place, chosen)


def folder(path: Path, chosen: Mapping[str, Language], remedy: str = "") -> SourceFiles:
    """Return the files below a folder, without hidden folders and installed packages.

    Links inside the folder are followed, each real folder once. A licence text in a folder below is
    that of the folder's files, so that repositories beside each other have their own. Each language
    leaves out the files in folders of certain names, too. A licence text around the folder counts,
    up to the root of its repository.

    Args:
        path: The folder.
        chosen: How the names of the wanted files end → their language.
        remedy: The way to read files of other languages, told where there are only those.

    Raises:
        SourceError: There is no such folder, or no such file in it.
    """
    if not path.is_dir():
        raise SourceError(f"--path {path}: no such folder; give a folder of source files")
    files, outside, unread = _below(path, _INSTALLED, chosen)
    if not files:
        links = f" but links that lead outside of it ({outside[0]})" if outside else ""
        others = f" but {of_languages(unread)}: {remedy}, or" if unread and remedy else ":"
        raise SourceError(
            f"{path} holds no {_named(chosen)}{links}{others} give --path with a folder of them"
        )
    licence = licences.licence_of_repository(path)
    below = {at for file in files for at in file.parents if path in at.parents}
    texts = {at: licences.licence_texts_in(at, path) for at in sorted(below)}
    own = {at: licences.licence_of(found) for at, found in texts.items() if found}
    place = path.resolve().name
    return SourceFiles(path, files, licence, "unknown", place, chosen, outside, own, unread)


def of_languages(files: Mapping[str, int]) -> str:
    """Return numbers of files by language in words: "5 of javascript, 1 of ruby"."""
    return ", ".join(f"{number:,} of {name}" for name, number in sorted(files.items()))


def languages_of(names: Sequence[str]) -> dict[str, Language]:
    """Return endings of files' names → their language, of some languages or of all.

    Raises:
        UnknownNameError: There is no such language.
    """
    chosen = [languages.get(name)() for name in names or languages.names()]
    return {suffix: language for language in chosen for suffix in language.suffixes}


def module_of(file: PurePath) -> str:
    """Return the dotted name of the module that a file holds, relative to the root."""
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _below(
    root: Path, skipped: frozenset[str], chosen: Mapping[str, Language]
) -> tuple[tuple[Path, ...], tuple[Path, ...], Counter[str]]:
    """Return the files below a folder, bad links, and the number of files by other language.

    A link is bad that leads outside or nowhere.
    """
    files: list[Path] = []
    known, unread = languages_of(()), Counter[str]()
    outside: list[Path] = []
    waiting, walked = [root], set[str]()
    for top in waiting:  # grows by the links to folders
        for parent, folders, names in os.walk(top):
            is_known = os.path.realpath(parent) in walked
            walked.add(os.path.realpath(parent))
            folders[:] = [] if is_known else [name for name in folders if _is_kept(name, skipped)]
            for path in () if is_known else (Path(parent, name) for name in (*folders, *names)):
                if path.is_symlink() and (leads_outside(path, root) or not path.exists()):
                    outside += [path] if path.suffix in chosen or not path.is_file() else []
                elif path.is_dir():
                    waiting += [path] if path.is_symlink() else []
                elif (language := known.get(path.suffix)) and path.is_file():
                    if language.left_out_folders.intersection(path.relative_to(root).parts[:-1]):
                        continue
                    if path.suffix in chosen:
                        files.append(path)
                    else:
                        unread[language.name] += 1
    return tuple(sorted(files)), tuple(sorted(outside)), unread


def _named(chosen: Mapping[str, Language]) -> str:
    return f"{', '.join(f'*{suffix}' for suffix in chosen)} files"


def _is_kept(folder_name: str, skipped: frozenset[str]) -> bool:
    return folder_name not in skipped and not folder_name.startswith(".")


def _all(metadata: importlib.metadata.PackageMetadata, key: str) -> list[str]:
    values: list[str] = metadata.get_all(key) or []
    return [value.strip() for value in values if value.strip() not in ("", "UNKNOWN")]


UNLISTED = "file of a repository that the file of popularity lacks"
FORK = "file of a fork"
UNUSED = "file of a repository that no other project uses"

_PREFIX = "Repository "  # before the names in projects_with_repository_fields.csv
_NAME, _FORK, _STARS, _FORKS = "Name with Owner", "Fork", "Stars Count", "Forks Count"
_FILES = "libraries.io's repositories or projects_with_repository_fields as CSV"
_USES = ("Dependent Projects Count", "Dependent Repositories Count")


def most_popular_first(files: SourceFiles, table: Path, dropped: Counter[str]) -> SourceFiles:
    """Return the files of repositories that others use, those of the most popular ones first.

    A repository is a folder ``owner/name`` below the root, or ``name``, which is then the most
    popular one of that name. Files of others are counted in ``dropped``.

    Args:
        files: Files of one or more repositories.
        table: A CSV of libraries.io's columns, of its repositories or of its projects with those of
            their repositories. Where it has no counts of use, all are used.
        dropped: Reason → number of files.

    Raises:
        SourceError: The table is missing, or lacks a column or a count.
    """
    names = {}
    for file in files.files:
        parts = [part.lower() for part in file.relative_to(files.root).parts[:-1]]
        names[file] = "/".join(parts[:2]), parts[0] if parts else ""
    known = _read(table, {name for both in names.values() for name in both if name})
    kept: dict[Path, tuple[int, str]] = {}
    for file, both in names.items():
        name = next(filter(known.__contains__, both), "")
        reason, popularity = known.get(name, (UNLISTED, 0))
        if reason:
            dropped[reason] += 1
        else:
            kept[file] = (-popularity, name)
    return replace(files, files=tuple(sorted(kept, key=lambda file: (*kept[file], file))))


def _read(table: Path, wanted: set[str]) -> dict[str, tuple[str, int]]:
    """Return repository, with its owner and alone → why it is left out, "", and its popularity."""
    found: dict[str, tuple[str, int]] = {}
    if not table.is_file():
        raise SourceError(f"{printable(table)}: no such file: give one with libraries.io's columns")
    # The published rows end in a comma that the header has not; some have no repository.
    rows = stream_rows(
        table, (_NAME, _STARS, _FORKS), lambda name: name.removeprefix(_PREFIX).rstrip("?"), _FILES
    )
    for place, row in rows:
        full = row[_NAME].lower()
        for name in {full, full.rpartition("/")[2]} & wanted:
            reason = FORK if row.get(_FORK, "").lower() in ("true", "t", "1") else ""
            uses = [_count(place, row, use) for use in _USES if use in row]
            reason = reason or (UNUSED if uses and not sum(uses) else "")
            one = reason, _count(place, row, _STARS) + _count(place, row, _FORKS)
            # A repository has a row for each of its projects, of which one may be used.
            found[name] = max(found.get(name, one), one, key=lambda each: (not each[0], each[1]))
    return found


def _count(place: str, row: Mapping[str, str], name: str) -> int:
    cell = row[name].strip() or "0"
    if not (cell.isascii() and cell.isdigit() and len(cell) < 16):
        raise SourceError(f"{place}: {name} is {cell[:40]!r}, no whole number: write one")
    return int(cell)
