"""How many of CoSQA's testable functions load and could run, with what an agent puts beside them.

    COSQA_DATA=... python -m tests.bench.bench_loadable [--every 10] [--packages 10]

The functions are those of the retrieval code base that are Python 3 and testable as the filter
`testable` says (a parameter, a returned value): 4,436 of 6,267. One loads where a box can import
it, every name that it looks up is bound, and modules that it imports when it is called are there.
The agent is a stand-in that knows no function: it imports what scaffolding knows, and for every
other name gives a stub, whose parts are those that the function takes from it by a dot. What it
writes is checked as a model's reply is. ``paper`` runs code without scaffolding and without the
image's packages, the default with both; both install what is missing, here for all at once and the
packages that most functions import.
"""

import argparse
import ast
import asyncio
import json
import symtable
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from agents.gates.beside import beside_fault
from infra.languages.python.functions import functions_of
from infra.languages.python.imports import names_bound_by
from infra.languages.python.scaffolding import lacking_names, scaffolded, with_beside
from infra.languages.python.syntax import FunctionNode
from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import Box
from sandbox.packages.resolve import distribution_for
from tests.bench.measure import cosqa_data

PROGRAM = """
import builtins
import importlib
import target
for name in {modules!r}:
    importlib.import_module(name)
lacking = [name for name in {names!r} if not hasattr(target, name) and not hasattr(builtins, name)]
assert not lacking, lacking
"""
PART = "staticmethod(lambda *a, **k: a[0] if a and callable(a[0]) else (lambda f: f))"
DECORATOR = "def {name}(*a, **k):\n    return a[0] if a and callable(a[0]) else (lambda f: f)"


def looked_up(code: str) -> set[str]:
    """Return the names that code looks up in its module or among the built-in ones."""
    return set(_looked_up(symtable.symtable(code, "target.py", "exec"))) - {"__class__"}


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


def is_testable(code: str) -> bool:
    """Return whether code is Python 3, with a parameter and a returned value; see `testable`."""
    try:
        first = functions_of(code)[0]
    except (SyntaxError, ValueError, IndexError):
        return False
    arguments = ast.parse(code).body[0].args.args  # type: ignore[attr-defined]  # a function's
    return first.returns_value and bool(arguments or first.parameters)


def beside_of(code: str, *, scaffolding: bool) -> str:
    """Return what the stand-in puts beside a function that lacks names."""
    lines = [] if scaffolding else _imports_of(code)
    bound = scaffolded(code) if scaffolding else "\n".join([*lines, code])
    return "\n".join([*lines, *(_stub(name, code) for name in sorted(lacking_names(bound)))])


def _imports_of(code: str) -> list[str]:
    """Return the lines that scaffolding puts before a function."""
    lacking, own = lacking_names(code), set(map(ast.dump, ast.parse(code).body))
    added = (node for node in ast.parse(scaffolded(code)).body if ast.dump(node) not in own)
    return [ast.unparse(node) for node in added if lacking.intersection(names_bound_by(node))]


def _stub(name: str, code: str) -> str:
    tree = ast.parse(code)
    for node in ast.walk(tree):
        for decorator in node.decorator_list if isinstance(node, FunctionNode) else ():
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(called, ast.Name) and called.id == name:
                return DECORATOR.format(name=name)
    parts = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and not node.attr.startswith("_")
    }
    lines = [f"    {part} = {PART}" for part in sorted(parts)]
    lines.append("    __class_getitem__ = classmethod(lambda cls, _: cls)")  # of annotations
    return "\n".join([f"class {name}(Exception):", *lines])


async def loads(code: str, box: Box) -> str:
    """Return why code cannot be run in a box, "" where it can."""
    try:
        names = looked_up(code)
    except SyntaxError as error:
        return f"no Python: {error.msg}"
    program = PROGRAM.format(modules=sorted(modules_of(code)), names=sorted(names))
    result = await box.run(program, code=code)
    missing = f" {result.missing_module}" if result.missing_module else ""
    return "" if result.outcome == "passed" else f"{result.error_type or result.outcome}{missing}"


async def install(box: Box, wanted: list[str]) -> list[str]:
    """Install distributions one by one; return those that cannot be."""
    return [name for name in wanted if not (await box.install([name])).ok]


def wanted_by(codes: list[str], most: int) -> list[str]:
    """Return the distributions that most functions import, once these are scaffolded."""
    counts = Counter(module for code in codes for module in modules_of(scaffolded(code)))
    found = (distribution_for(module) for module, _ in counts.most_common())
    return list(dict.fromkeys(filter(None, found)))[:most]


async def report(folder: Path, every: int, packages: int) -> Table:
    """Load all functions and return the table."""
    texts = json.loads((folder / "code_idx_map.txt").read_text())
    codes = [code for code in texts if is_testable(code)]
    wanted, codes = wanted_by(codes, packages), codes[::every]
    rows: dict[str, Counter[str]] = {}
    refused = Counter[str]()
    sandbox = make_sandbox(SandboxSettings(memory_mb=1024, timeout_s=30))
    for name, scaffolding in (("paper", False), ("default", True)):
        alone, whole = Counter[str](), Counter[str]()
        async with sandbox.box("", bare=not scaffolding) as box:
            failed = await install(box, wanted)
            for code in codes:
                beside = beside_of(code, scaffolding=scaffolding)
                if fault := beside_fault(beside, code):
                    refused[fault] += 1
                    beside = ""
                alone[await loads(scaffolded(code) if scaffolding else code, box)] += 1
                whole[await loads(with_beside(code, beside, scaffolding=scaffolding), box)] += 1
        rows |= {f"{name}, as it was": alone, f"{name}, with what stands beside it": whole}
    await sandbox.close()
    return _table(rows, len(codes), f"not installed: {', '.join(failed)}", refused)


def _table(
    rows: dict[str, Counter[str]], functions: int, failed: str, refused: Counter[str]
) -> Table:
    title = f"CoSQA's code base, {functions:,} testable functions"
    table = Table(title=title, title_justify="left")
    for column in ("configuration", "load", "share", "what the others lack"):
        table.add_column(column, justify="right" if column in ("load", "share") else "left")
    for name, kinds in rows.items():
        number = kinds.pop("")
        reasons = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(8))
        table.add_row(name, str(number), f"{number / functions:.1%}", reasons)
    words = [failed, f"refused: {refused.total()} {refused.most_common(3)}"]
    table.caption, table.caption_justify = "\n".join(words), "left"
    return table


def main() -> None:
    """Load and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take each so manieth function")
    parser.add_argument("--packages", type=int, default=10, help="how many to install")
    options = parser.parse_args()
    folder = cosqa_data()
    warnings.simplefilter("ignore", SyntaxWarning)  # of other people's functions
    Console(width=110).print(asyncio.run(report(folder, options.every, options.packages)))


if __name__ == "__main__":
    main()
