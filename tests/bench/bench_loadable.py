"""How many of CoSQA's dev functions load: as they are, after mending, or not without context.

    COSQA_DATA=... python -m tests.bench.bench_loadable [--without tensorflow torch]

A function loads where a box can import it, nobody else need give it a name, and the modules that it
imports when it is called are there. Mending is what the pipeline does with no model: imports before
the function, distributions from the image or the index. What is left needs its class or its module.
Beside it stands a count on the same functions: 22.8% run as they stand, 40.7% with imports.
"""

import argparse
import ast
import asyncio
import builtins
import json
import symtable
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from infra.languages.python.scaffolding import scaffolded
from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import Box
from sandbox.packages.resolve import distribution_for
from tests.bench.measure import cosqa_data

KNOWN_SHARES = {"loads as it is": "22.8%", "loads as it is or mended": "40.7%"}
ALWAYS_THERE = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__"}
LOAD = """
import importlib
import target
for name in {modules!r}:
    importlib.import_module(name)
"""


def free_names(code: str) -> set[str]:
    """Return the names that code looks up and nobody gives it."""
    table = symtable.symtable(code, "target.py", "exec")
    given = {
        name.get_name()
        for name in table.get_symbols()
        if name.is_assigned() or name.is_imported() or name.is_namespace()
    }
    return set(_looked_up(table)) - given - ALWAYS_THERE


def _looked_up(table: symtable.SymbolTable) -> Iterator[str]:
    at_top = table.get_type() == "module"
    for name in table.get_symbols():
        if name.is_referenced() and (name.is_global() or at_top):
            yield name.get_name()
    for child in table.get_children():
        if child.get_name() != "_annotation":  # left unevaluated
            yield from _looked_up(child)


def modules_of(code: str) -> set[str]:
    """Return the top-level modules that code imports anywhere."""
    modules = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.partition(".")[0])
    return modules


def is_method(code: str) -> bool:
    """Return whether code is a function that belongs to a class."""
    first = ast.parse(code).body[0]
    if not isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    parameters = [*first.args.posonlyargs, *first.args.args]
    return bool(parameters) and parameters[0].arg in ("self", "cls")


def parses(code: str) -> bool:
    """Return whether code is Python 3."""
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return True


async def loads(code: str, box: Box) -> bool:
    """Return whether code loads in a box as it is."""
    if free_names(code):
        return False
    program = LOAD.format(modules=sorted(modules_of(code)))
    return (await box.run(program, code=code)).outcome == "passed"


async def installed(box: Box, wanted: set[str]) -> dict[str, str]:
    """Install distributions one by one; return those that cannot be, with the reason."""
    failed = {}
    for name in sorted(wanted):
        outcome = await box.install([name])
        if not outcome.ok:
            failed[name] = outcome.message.splitlines()[-1][:80]
    return failed


async def kind_of(code: str, bare: Box, equipped: Box) -> str:
    """Return what a function needs to load."""
    if not parses(code):
        return "is no Python 3"
    if is_method(code):
        return "needs its class"
    if await loads(code, bare):
        return "loads as it is"
    return "loads after mending" if await loads(scaffolded(code), equipped) else "needs its module"


def wanted_by(codes: list[str]) -> set[str]:
    """Return the distributions that mended functions import."""
    mended = [scaffolded(code) for code in codes if parses(code) and not is_method(code)]
    modules = set[str]().union(*(modules_of(code) for code in mended if not free_names(code)))
    return {distribution_for(module) for module in modules} - {""}


async def report(folder: Path, without: set[str]) -> Table:
    """Load all functions and return the table."""
    codes = [row["code"] for row in json.loads((folder / "cosqa-dev.json").read_text())]
    wanted = wanted_by(codes) - without
    sandbox = make_sandbox(SandboxSettings(memory_mb=1024, timeout_s=30))
    async with sandbox.box("") as bare, sandbox.box("") as equipped:
        failed = await installed(equipped, wanted)
        kinds = Counter([await kind_of(code, bare, equipped) for code in codes])
    await sandbox.close()
    kinds["loads as it is or mended"] = kinds["loads as it is"] + kinds["loads after mending"]
    return _table(kinds, len(codes), wanted - set(failed), failed)


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
    folder = cosqa_data()
    warnings.simplefilter("ignore", SyntaxWarning)  # of other people's functions
    Console(width=110).print(asyncio.run(report(folder, set(options.without))))


if __name__ == "__main__":
    main()
