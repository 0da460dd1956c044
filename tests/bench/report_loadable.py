"""How many of CoSQA's dev functions load: as they are, after mending, or not without context.

    COSQA_DATA=... python -m tests.bench.report_loadable [--without tensorflow torch]

A function loads where it can be imported in a box and every name that it uses is bound, those of
the modules that it imports when it is called included. Mending adds imports and installs wheels,
with no model. What is left needs its class or its module. Beside it stand the shares of a count by
hand on the same functions: 22.8% run as they stand, 40.7% with imports added.
"""

import argparse
import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from infra.settings import SandboxSettings
from sandbox.base import Box
from sandbox.imports import distribution_for
from sandbox.mending import free_names, imported_modules, imports_for, is_method
from sandbox.registry import make_sandbox

KNOWN_SHARES = {"loads as it is": "22.8%", "loads as it is or mended": "40.7%"}
CHECK = """
import builtins, importlib
space = {{}}
exec(compile({code!r}, "function.py", "exec"), space)
for name in {names!r}:
    assert name in space or hasattr(builtins, name), name
for module in {modules!r}:
    importlib.import_module(module)
"""


class Function(NamedTuple):
    """A function, the names and modules that it uses, and what would mend it."""

    code: str
    names: frozenset[str]
    modules: frozenset[str]
    imports: tuple[str, ...]
    method: bool

    @property
    def mended(self) -> str:
        """The function behind its imports."""
        return "\n".join([*self.imports, self.code])

    @property
    def distributions(self) -> set[str]:
        """What must be installed for it, mended."""
        modules = self.modules | imported_modules("\n".join(self.imports))
        return {distribution_for(module) for module in modules} - {""}

    def check(self, code: str) -> str:
        """Return a program that loads a form of it."""
        names, modules = sorted(self.names), sorted(self.modules)
        return CHECK.format(code=code, names=names, modules=modules)


def functions(folder: Path) -> Iterator[Function | None]:
    """Yield each dev function, None for one that is no Python 3."""
    for row in json.loads((folder / "cosqa-dev.json").read_text()):
        code = row["code"]
        try:
            names, modules = free_names(code), imported_modules(code)
        except (SyntaxError, ValueError):
            yield None
            continue
        lines = tuple(dict.fromkeys(imports_for(code).values()))
        yield Function(code, frozenset(names), frozenset(modules), lines, is_method(code))


async def installed(box: Box, wanted: set[str]) -> dict[str, str]:
    """Install distributions one by one; return those that cannot be, with the reason."""
    failed = {}
    for name in sorted(wanted):
        outcome = await box.install([name])
        if not outcome.ok:
            failed[name] = outcome.message.splitlines()[-1][:80]
    return failed


async def kind_of(function: Function | None, bare: Box, equipped: Box) -> str:
    """Return what a function needs to load."""
    if function is None:
        return "is no Python 3"
    if function.method:
        return "needs its class"
    if (await bare.run(function.check(function.code))).outcome == "passed":
        return "loads as it is"
    if (await equipped.run(function.check(function.mended))).outcome == "passed":
        return "loads after mending"
    return "needs its module"


async def report(folder: Path, without: set[str]) -> Table:
    """Load all functions and return the table."""
    found = list(functions(folder))
    usable = [f for f in found if f and not f.method and f.names <= set(imports_for(f.code))]
    wanted = set[str]().union(*(f.distributions for f in usable)) - without
    limits = SandboxSettings(memory_mb=1024, timeout_s=30)
    sandbox = make_sandbox(limits)
    async with sandbox.box("") as bare, sandbox.box("") as equipped:
        failed = await installed(equipped, wanted)
        kinds = Counter([await kind_of(function, bare, equipped) for function in found])
    await sandbox.close()
    kinds["loads as it is or mended"] = kinds["loads as it is"] + kinds["loads after mending"]
    return _table(kinds, len(found), wanted - set(failed), failed)


def _table(
    kinds: Counter[str], functions: int, installed: set[str], failed: dict[str, str]
) -> Table:
    table = Table(title=f"CoSQA dev, {functions} functions", title_justify="left")
    table.add_column("function")
    for column in ("number", "share", "count by hand"):
        table.add_column(column, justify="right")
    for kind in ("loads as it is", "loads after mending", "loads as it is or mended",
                 "needs its module", "needs its class", "is no Python 3"):  # fmt: skip
        number = kinds[kind]
        table.add_row(kind, str(number), f"{number / functions:.1%}", KNOWN_SHARES.get(kind, ""))
    words = [f"installed: {', '.join(sorted(installed))}"]
    words += [f"not installed: {name} ({reason})" for name, reason in failed.items()]
    table.caption, table.caption_justify = "\n".join(words), "left"
    return table


def main() -> None:
    """Load and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", nargs="*", default=["tensorflow", "torch"])
    options = parser.parse_args()
    folder = os.environ.get("COSQA_DATA")
    if not folder:
        parser.error("set COSQA_DATA to the folder with cosqa-dev.json")
    Console(width=110).print(asyncio.run(report(Path(folder), set(options.without))))


if __name__ == "__main__":
    main()
