"""Functions by language beside Universal Ctags: how many are equal, and how many a second.

``python -m tests.bench.bench_languages FOLDER``: the folder holds files of any of the languages,
such as unpacked packages; ``ctags`` is Debian's ``universal-ctags``. A function is equal where its
name and its first line are. Both are compared without functions inside of others and without
those that have no body, which is decided by what ctags says of their lines alone. Annotations
belong to a function here and not there; so do its modifiers on lines of their own.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from infra.languages import Language, languages

KINDS = {"func", "method", "function", "generator", "getter", "setter", "singletonMethod", "member"}
_ANONYMOUS = ("anonymousFunction", "AnonymousFunction", "__anon")
_BRACED = {"java", "php"}  # languages whose functions may have no body
_BODY = re.compile(r"[^{;]*\{")
_SHOWN = 10


class Place(NamedTuple):
    """Where a function is: its file, and its own name."""

    file: str
    name: str
    line: int


def by_ctags(language: Language, files: list[Path]) -> Iterator[Place]:
    """Yield the functions that ctags finds, without those inside of others or without a body."""
    command = [
        "ctags", "--output-format=json", "--fields=+neKS", "--sort=no", "-f", "-", "-L", "-",
        f"--languages={language.name}", f"--langmap={language.name}:{''.join(language.suffixes)}",
    ]  # fmt: skip
    names = "\n".join(map(str, files))
    printed = subprocess.run(
        command, input=names.encode(), capture_output=True, check=True
    ).stdout.decode(errors="replace")
    tags = [json.loads(line) for line in printed.split("\n") if line]
    ends: dict[str, int] = {}
    for tag in sorted(tags, key=lambda tag: (tag["path"], tag["line"])):
        path, line, name = tag["path"], tag["line"], tag["name"]
        if tag["kind"] not in KINDS or name.startswith(_ANONYMOUS) or line <= ends.get(path, 0):
            continue
        lines = lines_of(path)
        if language.name in _BRACED and not _BODY.match("\n".join(lines[line - 1 : line + 20])):
            continue
        ends[path] = tag.get("end", 0)
        while lines[line - 2].lstrip().startswith("@"):
            line -= 1
        yield Place(path, name, line)


@lru_cache(maxsize=1)
def lines_of(path: str) -> list[str]:
    """Return a file's lines."""
    return Path(path).read_text("utf-8", errors="replace").split("\n")


def by_us(language: Language, files: list[Path]) -> Iterator[tuple[Place, str]]:
    """Yield our functions with their text."""
    for file in files:
        try:
            functions = language.functions_of(language.decoded(file.read_bytes()))
        except (SyntaxError, UnicodeError):
            continue
        for function in functions:
            name = function.name.rpartition(".")[2]
            yield Place(str(file), name, function.first_line), function.text


def compare(language: Language, files: list[Path]) -> None:
    """Print the share of functions that both find, the rates, and the first differences."""
    started = time.process_time()
    ours = dict(by_us(language, files))
    took = time.process_time() - started
    started = time.perf_counter()
    tags = set(by_ctags(language, files))
    ctags_took = time.perf_counter() - started
    missing = [tag for tag in tags if tag not in ours]
    equal = (len(tags) - len(missing)) / max(1, len(tags))
    print(
        f"{language.name:<12}{len(files):>7,}{len(tags):>9,}{len(ours):>9,}"
        f"{equal:>9.2%}{len(ours) / took:>11,.0f}{len(tags) / ctags_took:>11,.0f}"
    )
    for title, some in (("ctags alone", missing), ("ours alone", ours.keys() - tags)):
        for place in sorted(some)[:_SHOWN]:
            print(f"    {title}: {place.file}:{place.line}: {place.name}")


def main() -> None:
    """Print the table."""
    root = Path(sys.argv[1])
    print(
        f"{'language':<12}{'files':>7}{'ctags':>9}{'ours':>9}{'equal':>9}{'ours/s':>11}{'ctags/s':>11}"
    )
    for name in sys.argv[2:] or languages.names():
        language = languages.get(name)()
        files = sorted(
            file for file in root.rglob("*") if file.suffix in language.suffixes and file.is_file()
        )
        if files:
            compare(language, files)


if __name__ == "__main__":
    main()
