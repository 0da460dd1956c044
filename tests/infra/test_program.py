"""Laws of the digest of the program's text."""

import sys
from pathlib import Path

import pytest

from infra.program import program_digest


def test_it_differs_with_every_file_of_a_package_and_with_no_cached_byte_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "made_up_package"
    package.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    files = [package / name for name in ("__init__.py", "module.py", "page.jinja")]
    seen = set()
    for content in ("1", "2"):
        for file in files:
            file.write_text(content)
            program_digest.cache_clear()
            seen.add(program_digest(("made_up_package",)))
    assert len(seen) == 2 * len(files)
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__" / "module.cpython.pyc").write_bytes(b"compiled")
    program_digest.cache_clear()
    assert program_digest(("made_up_package",)) in seen
    module = program_digest(("made_up_package.module",))
    files[0].write_text("3")
    program_digest.cache_clear()
    assert program_digest(("made_up_package.module",)) == module
    assert program_digest(("made_up_package.module",), ("pytest",)) != module
    sys.modules.pop("made_up_package")
    sys.modules.pop("made_up_package.module")
