"""Functions by language beside an independent reader: how many are equal, and how many a second.

The folder holds files of any of the languages, such as unpacked packages. The reader is ``ctags``
(Debian's ``universal-ctags``), of JavaScript acorn (npm's ``acorn`` in a folder that NODE_PATH
names), since ctags takes functions inside of anonymous ones for others. A function is equal where
its name and its first line are. Compared are functions that are not inside of others and have a
body, which is decided by what the reader says of their lines alone. Annotations belong to a
function here and not in ctags, whose lines are moved up over them in Java. Decorators of Python may
take several lines, so there the line of ``def`` is compared. First it says how many functions a
source collects there a second of the processor's time, and in how much memory.
"""

import argparse
import json
import logging
import re
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from infra.languages import Language, languages
from tasks.corpus.functions import find_functions
from tasks.corpus.source_files import folder, languages_of

KINDS = {"func", "method", "function", "generator", "getter", "setter", "singletonMethod"}
_ANONYMOUS = ("anonymousFunction", "AnonymousFunction", "__anon")
_BRACED = {"java", "php"}  # languages whose functions may have no body
_BODY = re.compile(r"[^{;]*\{")
_DEFINITION = re.compile(r"(?s)\A@.*?\n(?=(?:async )?def )")
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
        kind = "method" if (tag["kind"], language.name) == ("member", "python") else tag["kind"]
        if kind not in KINDS or name.startswith(_ANONYMOUS) or line <= ends.get(path, 0):
            continue
        lines = lines_of(path)
        if language.name in _BRACED and not _BODY.match("\n".join(lines[line - 1 : line + 20])):
            continue
        ends[path] = tag.get("end", 0)
        while language.name == "java" and lines[line - 2].lstrip().startswith("@"):
            line -= 1
        yield Place(path, name, line)


def by_acorn(files: list[Path]) -> Iterator[Place]:
    """Yield the outermost functions that acorn finds in JavaScript; of no file that it refuses."""
    script = Path(__file__).with_name("functions_by_acorn.js")
    names = "\n".join(map(str, files)).encode()
    printed = subprocess.run(["node", script], input=names, capture_output=True, check=True).stdout
    for row in map(json.loads, printed.decode().splitlines()):
        if row["name"] is not None:
            yield Place(row["path"], row["name"], row["line"])


@lru_cache(maxsize=1)
def lines_of(path: str) -> list[str]:
    """Return a file's lines."""
    return Path(path).read_text("utf-8", errors="replace").split("\n")


def by_us(language: Language, files: list[Path]) -> Iterator[Place]:
    """Yield our functions."""
    for file in files:
        try:
            functions = language.functions_of(language.decoded(file.read_bytes()))
        except (SyntaxError, UnicodeError):
            continue
        for function in functions:
            name, line = function.name.rpartition(".")[2], function.first_line
            if language.name == "python" and function.text.startswith("@"):
                line += _DEFINITION.search(function.text)[0].count("\n")  # type: ignore[index]
            yield Place(str(file), name, line)


def compare(language: Language, files: list[Path]) -> None:
    """Print the share of functions that both find, the rates, and the first differences."""
    started = time.process_time()
    ours = set(by_us(language, files))
    took = time.process_time() - started
    started = time.perf_counter()
    is_javascript = language.name == "javascript"
    tags = set(by_acorn(files) if is_javascript else by_ctags(language, files))
    other_took = time.perf_counter() - started
    missing = [tag for tag in tags if tag not in ours]
    equal = (len(tags) - len(missing)) / max(1, len(tags))
    print(
        f"{language.name:<12}{len(files):>7,}{len(tags):>9,}{len(ours):>9,}"
        f"{equal:>9.2%}{len(ours) / took:>11,.0f}{len(tags) / other_took:>11,.0f}"
    )
    for title, some in (("theirs alone", missing), ("ours alone", ours - tags)):
        for place in sorted(some)[:_SHOWN]:
            print(f"    {title}: {place.file}:{place.line}: {place.name}")


def collect(root: Path) -> None:
    """Print how many functions a source reads a second, what it leaves out, and its memory."""
    started, dropped = time.process_time(), Counter[str]()
    functions = sum(1 for _ in find_functions(folder(root, languages_of(())), dropped))
    took = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"collected {functions:,}, {functions / took:,.0f}/s, at most {peak:,} MB; {dict(dropped)}"
    )


def main() -> None:
    """Print what collecting takes, and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of source files")
    parser.add_argument(
        "--language", action="append", choices=languages.names(), help="all without"
    )
    given = parser.parse_args()
    root: Path = given.folder
    logging.disable(logging.WARNING)
    collect(root)
    print(
        f"{'language':<12}{'files':>7}{'theirs':>9}{'ours':>9}{'equal':>9}{'ours/s':>11}{'theirs/s':>11}"
    )
    for name in given.language or languages.names():
        language = languages.get(name)()
        files = sorted(
            file for file in root.rglob("*") if file.suffix in language.suffixes and file.is_file()
        )
        if files:
            compare(language, files)


if __name__ == "__main__":
    main()
