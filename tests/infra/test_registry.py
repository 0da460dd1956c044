"""Laws of the registry, and of every registry that the product has."""

import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.errors import UnknownNameError
from infra.registry import Registry

AnyRegistry = Registry[Callable[..., object]]
PLUG_IN = """
from shapes import shapes

@shapes.register({name!r})
class Shape:
    pass
"""
HEAVY = ("docker", "faiss", "openvino", "ray", "torch", "transformers")


def all_registries() -> list[AnyRegistry]:
    """Return the registries found in the packages' ``__init__``, two levels deep."""
    tops = [importlib.import_module(name) for name in ("infra", "sandbox", "agents", "tasks")]
    inner = [
        importlib.import_module(module.name)
        for top in tops
        for module in pkgutil.iter_modules(top.__path__, f"{top.__name__}.")
        if module.ispkg
    ]
    return [one for module in inner for one in vars(module).values() if isinstance(one, Registry)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the folder of a package ``shapes``, whose registry is empty."""
    package = tmp_path / "shapes"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from infra.registry import Registry\nshapes = Registry('shape', 'shapes')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == "shapes"]:
        del sys.modules[name]


def shapes_of(**files: str) -> Callable[[Path], AnyRegistry]:
    def made(folder: Path) -> AnyRegistry:
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        registry: AnyRegistry = importlib.import_module("shapes").shapes
        return registry

    return made


def test_a_name_imports_its_own_file_alone(folder: Path) -> None:
    shapes = shapes_of(
        round_one=PLUG_IN.format(name="round-one"), flat="raise RuntimeError('imported')"
    )(folder)
    assert shapes.names() == ["flat", "round-one"]
    assert shapes.get("round-one").__name__ == "Shape"
    assert "shapes.flat" not in sys.modules


def test_the_names_import_nothing(folder: Path) -> None:
    shapes = shapes_of(flat="raise RuntimeError('imported')")(folder)
    assert list(shapes) == ["flat"]


def test_helpers_begin_with_an_underscore_and_are_skipped(folder: Path) -> None:
    shapes = shapes_of(_shared="raise RuntimeError('imported')")(folder)
    assert shapes.names() == []
    with pytest.raises(UnknownNameError):
        shapes.get("-shared")


def test_a_package_is_a_plug_in_too(folder: Path) -> None:
    (folder / "solid").mkdir()
    (folder / "solid" / "__init__.py").write_text(PLUG_IN.format(name="solid"))
    shapes = shapes_of()(folder)
    assert shapes.names() == ["solid"]
    assert callable(shapes.get("solid"))


def test_a_folder_added_to_the_path_is_seen_at_any_time(folder: Path, tmp_path: Path) -> None:
    shapes = shapes_of()(folder)
    assert shapes.names() == []
    further = tmp_path / "further"
    further.mkdir()
    (further / "cube.py").write_text(PLUG_IN.format(name="cube"))
    importlib.import_module("shapes").__path__.append(str(further))
    assert shapes.names() == ["cube"]
    assert callable(shapes.get("cube"))


def test_a_file_may_register_several_names_where_the_registry_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = PLUG_IN.format(name="MRR") + PLUG_IN.format(name="MMRR").partition("shapes\n")[2]
    (folder / "rank.py").write_text(both)
    several: AnyRegistry = Registry("shape", "shapes", one_per_file=False)
    monkeypatch.setattr("shapes.shapes", several)
    assert several.names() == ["MMRR", "MRR"]
    assert callable(several.get("MRR"))


def test_an_unknown_name_lists_those_that_exist(folder: Path) -> None:
    shapes = shapes_of(round="", flat="")(folder)
    with pytest.raises(UnknownNameError, match=r"unknown shape 'square'.*one of flat, round"):
        shapes.get("square")


@pytest.mark.parametrize(
    ("given", "meant"), [("rond", "round"), ("flatt", "flat"), ("Round", "round")]
)
def test_a_misspelt_name_is_answered_with_the_right_one(
    folder: Path, given: str, meant: str
) -> None:
    shapes = shapes_of(round="", flat="")(folder)
    with pytest.raises(UnknownNameError, match=rf"'{given}' \(did you mean '{meant}'\?\): it must"):
        shapes.get(given)


def test_a_file_that_registers_another_name_is_named_with_what_it_registers(folder: Path) -> None:
    shapes = shapes_of(round_one=PLUG_IN.format(name="circle"), flat="")(folder)
    with pytest.raises(
        UnknownNameError,
        match=r"shapes\.round_one registers no shape 'round-one': a file is called",
    ):
        shapes.get("round-one")
    with pytest.raises(UnknownNameError, match=r"shapes\.flat registers no shape"):
        shapes.get("flat")


def test_two_entries_cannot_share_a_name(folder: Path) -> None:
    shapes = shapes_of()(folder)
    shapes.register("round")(int)
    with pytest.raises(ValueError, match="two shapes"):
        shapes.register("round")(float)


def test_the_registries_of_the_product_are_found() -> None:
    kinds = {registry.kind for registry in all_registries()}
    assert {"encoder", "metric", "retrieval method", "sandbox backend", "source"} <= kinds


@pytest.mark.parametrize("registry", all_registries(), ids=lambda one: one.kind)
def test_each_name_is_one_that_its_file_registers(registry: AnyRegistry) -> None:
    for name in registry.names():
        assert callable(registry.get(name))


@pytest.mark.parametrize(
    ("statement", "own"),
    [
        ("from sandbox.backends import backends as r; r.names()", []),
        ("from tasks.encoders import encoders as r; r.names()", []),
        ("from tasks.encoders import encoders as r; r.get('minilm')", []),
        ("from tasks.retrievers import retrievers as r; r.get('bm25')", ["bm25"]),
        ("from tasks.retrievers import retrievers as r; r.get('tf-idf')", ["tf_idf"]),
        ("from tasks.sources import sources as r; r.get('jsonl')", ["jsonl"]),
        ("from tasks.metrics import metrics as r; r.get('NDCG')", None),
    ],
)
def test_a_look_up_loads_no_heavy_library_and_no_sibling(
    statement: str, own: list[str] | None
) -> None:
    program = f"{statement}\nimport json, sys\nprint(json.dumps([r.package, *sys.modules]))"
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    package, *modules = json.loads(printed.stdout)
    assert not {*HEAVY} & {*modules}
    if own is not None:
        assert plug_ins(package, modules) == own


def plug_ins(package: str, modules: list[str]) -> list[str]:
    names = [name.removeprefix(f"{package}.") for name in modules if name.startswith(f"{package}.")]
    return [name for name in names if not name.startswith("_")]
