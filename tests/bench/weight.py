"""The weight of the code: what a reader must carry.

Counted by the syntax tree, of a checkout: lines and files; statements that import;
private functions that one place names; how often ``settings`` are handed on in calls, in all
modules that a flow imports; arrows between the files of ``infra/store``, and their floors.
"""

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PRODUCT = ("flows", "tasks", "agents", "sandbox", "infra")


def files_of(root: Path, *folders: str) -> dict[str, Path]:
    """Return module name → file."""
    found = (file for folder in folders for file in sorted((root / folder).rglob("*.py")))
    return {
        ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file
        for file in found
    }


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def lines_of(files: Mapping[str, Path]) -> int:
    return sum(len(file.read_text("utf-8").splitlines()) for file in files.values())


def imported_by(file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules that a file imports, also within its functions."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in known or node.module in known:
                    yield inner if inner in known else node.module


def reached_from(module: str, known: Mapping[str, Path]) -> set[str]:
    reached, open_ = {module}, [module]
    while open_:
        new = set(imported_by(known[open_.pop()], known)) - reached
        reached |= new
        open_ += new
    return reached


def handed_on(modules: set[str], known: Mapping[str, Path]) -> tuple[int, int]:
    """Return how many arguments of calls are settings or a part of them, and in how many files."""
    counts = Counter(
        module
        for module in modules
        for node in ast.walk(tree_of(known[module]))
        if isinstance(node, ast.Call)
        for given in (*node.args, *(keyword.value for keyword in node.keywords))
        if re.search(r"(^|[._])settings(\.\w+)?$", ast.unparse(given))
    )
    return counts.total(), len(counts)


def import_share(files: Mapping[str, Path]) -> float:
    taken = sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for file in files.values()
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Import | ast.ImportFrom)
    )
    return taken / lines_of(files)


def used_once(files: Mapping[str, Path]) -> float:
    """Return the share of functions that are private and whose name stands at one other place."""
    text = Counter(
        word for file in files.values() for word in re.findall(r"\w+", file.read_text("utf-8"))
    )
    functions = [
        node.name
        for file in files.values()
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    private = [name for name in functions if name.startswith("_") and not name.endswith("__")]
    return sum(text[name] == 2 for name in private) / len(functions)


def floors_of(root: Path, folder: str) -> tuple[int, int]:
    """Return the arrows between a folder's files, and the longest way along them."""
    known = files_of(root, folder)
    arrows = {name: set(imported_by(file, known)) - {name} for name, file in known.items()}
    arrows.pop(folder.replace("/", "."), None)
    arrows = {name: to & arrows.keys() for name, to in arrows.items()}

    def floor(name: str, above: frozenset[str] = frozenset()) -> int:
        below = arrows[name] - above
        return 1 + max((floor(each, above | {name}) for each in below), default=0)

    return sum(map(len, arrows.values())), max(map(floor, arrows))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="of the checkout (.)")
    root: Path = parser.parse_args().folder
    if not (root / "flows").is_dir():
        parser.error(f"{root} is no checkout: it has no folder 'flows'")
    product, tests = files_of(root, *PRODUCT), files_of(root, "tests")
    sql = sum(len(file.read_text().splitlines()) for file in (root / "tests").rglob("*.sql"))
    annotate, plan = (
        handed_on(reached_from(module, product), product)
        for module in ("flows.annotate", "tasks.stages.annotate.plan")
    )
    arrows, floors = floors_of(root, "infra/store")
    rows = {
        "product: lines, files": f"{lines_of(product):,}, {len(product)}",
        "tests: lines, SQL included": f"{lines_of(tests) + sql:,}",
        "lines of import statements": f"{import_share(product):.1%}",
        "private functions that are used once, of all": f"{used_once(product):.1%}",
        "settings handed on, in files: annotate": f"{annotate[0]}, {annotate[1]}",
        "settings handed on, in files: --plan": f"{plan[0]}, {plan[1]}",
        "arrows between files of infra/store, floors": f"{arrows}, {floors}",
        "README": f"{(root / 'README.md').stat().st_size / 1000:.1f} kB",
    }
    for what, figure in rows.items():
        print(f"{what:<46} {figure}")


if __name__ == "__main__":
    main()
