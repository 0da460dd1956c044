"""Laws of where Python files lie."""

import importlib.metadata
import platform
from pathlib import Path, PurePosixPath

import pytest

from infra.errors import SettingsError, SourceError
from tasks.corpus.source_files import folder, installed, languages_of, module_of, standard_library

PYTHON = languages_of(("python",))


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")


def test_a_folder_is_read_without_hidden_and_installed_files(tmp_path: Path) -> None:
    write(tmp_path, "b.py", "a/c.py", "test/d.py", "e.txt", ".venv/f.py", "x/site-packages/g.py")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    python = folder(tmp_path, PYTHON)
    assert [file.relative_to(tmp_path).as_posix() for file in python.files] == [
        "a/c.py",
        "b.py",
        "test/d.py",
    ]
    assert (python.licence, python.revision) == ("unknown", "unknown")


@pytest.mark.parametrize("name", ["LICENSE", "licence.txt", "COPYING", "UNLICENSE.md"])
def test_a_folder_is_under_the_licence_whose_text_lies_in_it(tmp_path: Path, name: str) -> None:
    write(tmp_path, "a.py")
    (tmp_path / name).write_text("The MIT License (MIT)\n\nPermission is hereby granted, free of "
                                 "charge, to any person obtaining a copy\n")  # fmt: skip
    assert folder(tmp_path, PYTHON).licence == "MIT"


def test_a_folder_whose_licence_has_bytes_of_any_kind_is_read(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "LICENSES/MIT.txt")
    (tmp_path / "LICENSE").write_bytes(b"\xff\xfe all rights reserved")
    assert folder(tmp_path, PYTHON).licence == "unknown"


def test_a_folders_place_on_this_machine_is_not_told(tmp_path: Path) -> None:
    write(tmp_path / "mine", "a.py")
    assert folder(tmp_path / "mine", PYTHON).location == "mine"
    assert folder(tmp_path / "mine" / ".." / "mine", PYTHON).location == "mine"


def test_a_folder_without_python_files_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"holds no \*\.py files: give --path"):
        folder(tmp_path, PYTHON)


def test_the_standard_library_has_neither_tests_nor_installed_packages() -> None:
    python = standard_library()
    names = {file.relative_to(python.root).as_posix() for file in python.files}
    folders = {part for name in names for part in PurePosixPath(name).parts[:-1]}
    assert {"textwrap.py", "json/decoder.py", "unittest/case.py"} <= names
    assert not folders & {"test", "tests", "idle_test", "site-packages", "dist-packages"}
    assert (python.licence, python.revision) == ("PSF-2.0", platform.python_version())


def test_an_installed_distribution_tells_its_version_and_licence() -> None:
    python = installed("hypothesis", PYTHON)
    assert python.revision == importlib.metadata.version("hypothesis")
    assert "MPL" in python.licence or "Mozilla" in python.licence
    assert python.location == "distribution hypothesis"
    assert python.root / "hypothesis" / "core.py" in python.files


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ("License-Expression: MIT\nLicense: other", "MIT"),
        ("License: BSD", "BSD"),
        ("License: UNKNOWN\nClassifier: License :: OSI Approved :: MIT License", "MIT"),
        ("License: Apache License, Version 2.0", "Apache-2.0"),
        ("License-Expression: MIT OR Apache-2.0", "MIT OR Apache-2.0"),
        ("License: proprietary", "proprietary"),
        ("License: long\n        text\nClassifier: License :: OSI Approved :: BSD", "BSD"),
        ("Classifier: Topic :: Text", "unknown"),
    ],
)
def test_a_distribution_states_its_licence_in_one_of_three_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metadata: str, licence: str
) -> None:
    stated = tmp_path / "sample-1.dist-info"
    write(tmp_path, "sample.py", "tests/test_sample.py", "sample-1.dist-info/RECORD")
    (stated / "METADATA").write_text(f"Name: sample-of-ours\nVersion: 1\n{metadata}\n")
    (stated / "RECORD").write_text("sample.py,,\ntests/test_sample.py,,\n../bin/run.py,,\n")
    stated.rename(tmp_path / "sample_of_ours-1.dist-info")
    monkeypatch.syspath_prepend(tmp_path)
    python = installed("sample-of-ours", PYTHON)
    assert python.licence == licence
    assert python.files == (tmp_path / "sample.py",)


def test_a_distribution_that_is_not_there_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match=r"'no-such-thing' is not installed: install it"):
        installed("no-such-thing", PYTHON)


@pytest.mark.parametrize(
    ("file", "module"),
    [("a.py", "a"), ("a/b.py", "a.b"), ("a/__init__.py", "a"), ("a/__main__.py", "a.__main__")],
)
def test_modules_are_named_as_they_are_imported(file: str, module: str) -> None:
    assert module_of(PurePosixPath(file)) == module


def test_links_are_followed_inside_the_folder_and_named_outside(tmp_path: Path) -> None:
    root, other = tmp_path / "corpus", tmp_path / "other"
    write(root, "a.py", ".kept/b.py", ".kept/deep/c.py")
    write(other, "theirs.py", "data.csv")
    links = {
        "kept": ".kept",  # a hidden folder by a link that is none
        "again": ".kept/deep",  # each real folder once
        "loop": "../corpus",
        "one.py": "a.py",
        "theirs.py": "../other/theirs.py",
        "theirs": "../other",
        "gone": "../absent",
        "gone.py": "nowhere.py",
        "itself.py": "itself.py",
        "data.csv": "../other/data.csv",  # would not be read
        ".venv": "../other",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    (root / ".kept" / "back").symlink_to(root)
    python = folder(root, PYTHON)
    found = {file.relative_to(root).as_posix() for file in python.files}
    assert found == {"a.py", "one.py", "kept/b.py", "again/c.py"}
    assert {path.name for path in python.outside} == {
        "theirs.py", "theirs", "gone", "gone.py", "itself.py",
    }  # fmt: skip
    for file in python.files:
        file.unlink()
    with pytest.raises(SourceError, match=r"no \*\.py files but links that lead outside .*/gone"):
        folder(root, PYTHON)


def test_a_licence_outside_of_the_folder_is_not_the_folders(tmp_path: Path) -> None:
    write(tmp_path / "mine", "a.py")
    (tmp_path / "LICENSE").write_text("MIT License")
    (tmp_path / "mine" / "LICENSE").symlink_to("../LICENSE")
    assert folder(tmp_path / "mine", PYTHON).licence == "unknown"
