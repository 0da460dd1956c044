"""A folder in which somebody has laid modules under all names that a process of ours imports."""

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

_OURS = ("flows", "tasks", "agents", "sandbox", "infra", "tests")
_AT_START = ("sitecustomize", "usercustomize")


def lay_modules(folder: Path) -> Path:
    """Write modules into a folder which leave their name in a file; return that file.

    They have the names of the standard library, of all that is installed, and of our packages, each
    as a package too.
    """
    mark = folder.parent / f"{folder.name}-has-run"
    text = f"open({str(mark)!r}, 'a').write(__name__ + ' ')\n"
    names = {*sys.stdlib_module_names, *packages_distributions(), *_OURS, *_AT_START}
    for name in names:
        if name.isidentifier() and not (folder / name).exists():
            (folder / f"{name}.py").write_text(text)
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(text)
    return mark


def names_run(mark: Path) -> str:
    """Return the names of the modules that have run."""
    return mark.read_text() if mark.exists() else ""
