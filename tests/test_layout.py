"""Laws of the layout: what folders hold, how long files and functions are, what tests cover."""

import ast
import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tasks.stages import publish

ROOT = Path(__file__).parent.parent
PACKAGES = ("flows", "tasks", "agents", "sandbox", "infra")
MODULES = sorted(
    path.relative_to(ROOT)
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if "__pycache__" not in path.parts
)
TESTS = sorted(
    path.relative_to(ROOT)
    for path in (ROOT / "tests").rglob("test_*.py")
    if "attacks/programs" not in path.as_posix() and "attacks/targets" not in path.as_posix()
)


def entries(folder: str) -> list[str]:
    """Return what a folder holds, ``__init__.py`` and caches aside."""
    return sorted(
        path.name
        for path in (ROOT / folder).iterdir()
        if path.name not in ("__init__.py", "__pycache__")
    )


def test_tasks_holds_at_most_twenty_folders_and_no_loose_module() -> None:
    files = [name for name in entries("tasks") if (ROOT / "tasks" / name).is_file()]
    assert files == ["README.md"]
    assert len(entries("tasks")) - len(files) <= 20


def test_agents_holds_at_most_seven_entries() -> None:
    assert len(entries("agents")) <= 7


def test_flows_holds_one_file_a_flow_beside_options_entries_commands_and_runtime() -> None:
    for name in entries("flows"):
        path = ROOT / "flows" / name
        if path.is_dir():
            assert name in ("cli", "runtime")
            continue
        if name in ("entries.py", "options.py", "README.md", "ERRORS.md"):
            continue
        flow = path.stem
        assert re.search(rf"^def {flow}\(", path.read_text("utf-8"), re.MULTILINE), (
            f"{name}: no flow {flow}"
        )


def test_commands_do_not_import_late_for_a_quick_start() -> None:
    for path in [ROOT / "flows" / "options.py", *(ROOT / "flows" / "cli").glob("*.py")]:
        if path.name != "main.py":
            assert "PLC0415" not in path.read_text("utf-8"), path.name


def named_in(docstring: str) -> set[str]:
    """Return the modules that a docstring names between backticks, patterns such as a.* too."""
    names = re.findall(r"`+([\w./*]+)`+", docstring)
    return {name.removesuffix(".py").rpartition("/")[2].rstrip(".") for name in names}


def test_each_module_has_a_test_file_of_its_name_or_is_named_in_the_docstring_of_one() -> None:
    """By its full name anywhere, by its last part in the test folder that mirrors its own."""
    everywhere: set[str] = set()
    in_folder: dict[Path, set[str]] = {}
    for path in TESTS:
        named = named_in(ast.get_docstring(ast.parse((ROOT / path).read_text("utf-8"))) or "")
        everywhere |= named
        own = named | {path.stem.removeprefix("test_")}
        in_folder.setdefault(path.parent, set()).update(own)
    missing = []
    for module in MODULES:
        dotted = module.with_suffix("").as_posix().replace("/", ".")
        own = in_folder.get(Path("tests") / module.parent, set())
        by_name = {module.stem, module.stem.lstrip("_")} & own
        if module.name != "__init__.py" and not by_name:
            missing += [] if any(fnmatch(dotted, name) for name in everywhere) else [dotted]
    assert missing == [], (
        "write a test file of its name, or name it in the docstring of one: Covers `NAME`."
    )


def test_no_test_changes_a_module_of_python_through_one_of_ours() -> None:
    """Other threads would see it: `tests.fakes.modules` changes what one module of ours sees."""
    patched = re.compile(r'setattr\(\s*"((?:agents|flows|infra|sandbox|tasks)[\w.]*)\.(\w+)\.\w+"')
    for path in TESTS:
        for module, name in patched.findall((ROOT / path).read_text("utf-8")):
            assert name not in sys.stdlib_module_names, f"{path}: {module}.{name}"


def imports_of(path: Path) -> set[str]:
    """Return the dotted names that a file imports, also those within functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in NAMES else node.module for name in names}
    return found


def dotted(path: Path) -> str:
    return path.with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")


NAMES = {dotted(path) for path in MODULES}


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Return module → what it imports."""
    return {dotted(path): imports_of(path) for path in MODULES}


def test_a_private_module_is_imported_by_files_of_its_own_folder_alone(
    imports: dict[str, set[str]],
) -> None:
    foreign = [
        f"{module} -> {name}"
        for path in MODULES
        for module, folder in [(dotted(path), path.parent.as_posix().replace("/", "."))]
        for name in imports[module]
        if name in NAMES
        and name.rpartition(".")[2].startswith("_")
        and name.rpartition(".")[0] != folder
    ]
    assert foreign == []


def test_who_reads_python_imports_one_module(imports: dict[str, set[str]]) -> None:
    inner = {name for name in NAMES if name.startswith("infra.languages.python.")}
    outside = {name for name in NAMES if not name.startswith("infra.languages.")}
    assert {name for name in outside if imports[name] & inner} == set()


# Plug-ins of one line know nothing of one another.
PLUG_INS = [
    {"tasks.encoders", "tasks.estimators", "tasks.inputs.formats", "tasks.metrics",
     "tasks.retrievers", "tasks.sources", "tasks.suites", "tasks.training.models"},
    {"tasks.filters"},
    {"tasks.studies"},
]  # fmt: skip


def test_a_plug_in_is_imported_by_no_other_but_one_that_builds_on_it(
    imports: dict[str, set[str]],
) -> None:
    """What plug-ins share has a name that begins with an underscore."""
    found = set()
    for folders in PLUG_INS:
        within = {name for name in NAMES if name.rpartition(".")[0] in folders}
        plug_ins = {name for name in within if not name.rpartition(".")[2].startswith("_")}
        found |= {(name, other) for name in within | folders for other in imports[name] & plug_ins}
    assert found == {
        ("tasks.filters.marked_near_duplicates", "tasks.filters.near_duplicates"),
        ("tasks.filters.testable_without_self", "tasks.filters.testable"),
        ("tasks.sources.python_source", "tasks.sources.source_code"),
        ("tasks.sources.stdlib_sample", "tasks.sources.jsonl"),
    }


def test_no_file_imports_one_that_imports_it(imports: dict[str, set[str]]) -> None:
    left = {module: names & NAMES - {module} for module, names in imports.items()}
    while leaves := [module for module, names in left.items() if not names]:
        for module in leaves:
            del left[module]
        left = {module: names - {*leaves} for module, names in left.items()}
    assert left == {}


# Imports of modules in an export's key that decide nothing of its files: errors, settings and
# collections (values of the key), types, access to files, databases and plug-ins, what a run shows.
NOT_WRITERS = {
    *("infra.errors", "infra.files", "infra.settings", "infra.collected", "infra.subsets"),
    *("infra.store", "infra.store.database", "infra.store.benchmarks", "infra.registry"),
    *("tasks.runtime.caching", "tasks.runtime.progress", "tasks.runtime.references"),
    *("tasks.stages.candidates", "tasks.reports.evidence", "tasks.statistics"),
}


def test_each_module_that_an_export_is_made_by_is_in_its_key(imports: dict[str, set[str]]) -> None:
    """Else a change of its text would leave exports as they were."""
    writers = {
        name
        for name in NAMES
        for listed in publish._WRITERS
        if name == listed or name.startswith(f"{listed}.")
    }
    assert writers & NOT_WRITERS == set()
    own = ("infra.", "tasks.")
    used = {each for name in writers for each in imports[name] & NAMES if each.startswith(own)}
    assert used - writers - NOT_WRITERS == set()


def test_no_module_of_ours_is_imported_by_a_name_in_a_string() -> None:
    """But flows by the commands that start them; `infra.registry` imports what a folder has."""
    hidden = [
        f"{path}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module")
        and re.match(rf"f?['\"]({'|'.join(PACKAGES)})\.", ast.unparse(node.args[0]))
        and path.as_posix() != "flows/runtime/runs.py"
    ]  # fmt: skip
    assert hidden == []
