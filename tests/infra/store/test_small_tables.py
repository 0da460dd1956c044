"""Laws of the small tables of the store, of recipes and their uses, of ids and of texts.

Covers `infra.identity`, `recipes`.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from infra import store
from infra.errors import SettingsError, StoreError
from infra.identity import BenchmarkId, CodeId, QueryId, RecipeId, SearchId
from infra.records import Code, Query
from infra.settings import StoreSettings
from infra.store import Database, candidates, open_database, recipes
from infra.store.benchmarks import (
    Published,
    only_benchmark,
    record_benchmark,
)
from infra.store.corpus import insert_texts
from tests.fakes.stores import empty_store


def test_the_only_export_that_is_there_is_meant_where_none_is_named(tmp_path: Path) -> None:
    settings = StoreSettings(folder=tmp_path / "store")
    with pytest.raises(StoreError, match="there is no store at"):
        only_benchmark(settings)
    database = open_database(settings)
    for name in "abc":
        place = {"collection": "c", "label_origin": "o", "folder": str(tmp_path / name)}
        export = Published(benchmark_id=BenchmarkId(name), name=name, **place)
        record_benchmark(database, export)
    none = r"--benchmark FOLDER says which .*store has none, since nothing .*: run `cosqa collect`"
    with pytest.raises(SettingsError, match=none):
        only_benchmark(settings)
    (tmp_path / "b").mkdir()
    assert only_benchmark(settings) == tmp_path / "b"
    (tmp_path / "c").mkdir()
    with pytest.raises(SettingsError, match=r"has .*/b, .*/c"):
        only_benchmark(settings)


KINDS = {
    "query_id": QueryId, "code_id": CodeId, "search_id": SearchId, "recipe_id": RecipeId,
    "benchmark_id": BenchmarkId,
}  # fmt: skip


def functions() -> Iterator[Any]:
    for info in pkgutil.iter_modules(store.__path__, f"{store.__name__}."):
        module = importlib.import_module(info.name)
        for value in vars(module).values():
            if inspect.isfunction(value) and value.__module__ == info.name:
                yield value


def test_an_id_is_no_plain_string() -> None:
    for function in tuple(functions()):
        for name, hint in get_type_hints(function).items():
            if name in KINDS:
                assert hint is KINDS[name], name
            if name.removesuffix("s") in KINDS and name.endswith("s"):
                assert hint == Sequence[KINDS[name.removesuffix("s")]], name  # type: ignore[misc]


QUERY, CODE = Query.of("reverse a list"), Code.of("x = 1")


@pytest.mark.parametrize(
    ("queries", "codes"),
    [
        ([QUERY.model_copy(update={"text": "sort a list"})], []),
        ([], [CODE.model_copy(update={"text": "x = 2"})]),
        ([QUERY], [CODE, CODE.model_copy(update={"text": "x = 2"})]),
    ],
)
def test_an_id_with_another_text_is_refused_and_nothing_stored(
    tmp_path: Path, queries: list[Query], codes: list[Code]
) -> None:
    database = empty_store(tmp_path)
    with database.transaction() as tx:
        insert_texts(tx, [QUERY], [CODE])
    new = Code.of("y = 3")
    with pytest.raises(StoreError, match="two texts have the id"), database.transaction() as tx:
        insert_texts(tx, queries, [new, *codes])
    with database.transaction() as tx:
        insert_texts(tx, [QUERY], [CODE])
        assert tx.rows("SELECT text FROM queries UNION ALL SELECT text FROM codes") == [
            (QUERY.text,),
            (CODE.text,),
        ]


SEARCH, OTHER = SearchId("s"), SearchId("t")
BODY: dict[str, object] = {"model": {"model": "m"}, "gates": None, "limits": {"a": 1.5}}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return empty_store(tmp_path / "store")


def use(database: Database, *names: str, on: str | None = "c") -> None:
    bodies = {
        RecipeId(name): {**BODY, **({"round": number} if number > 1 else {})}
        for number, name in enumerate(names, 1)
    }
    recipes.record_recipes(database, bodies, used_on=on)


def used(database: Database, collection: str = "c") -> list[tuple[str, ...]]:
    return [item.rounds for item in recipes.used_recipes(database, collection)]


def test_recipes_are_used_on_a_collection_the_last_first_each_once(database: Database) -> None:
    candidates.record_search(database, SEARCH, "c", ["minilm"], 5)
    candidates.record_search(database, OTHER, "d", ["minilm"], 5)
    for name in ("first", "second", "first"):
        use(database, name)
    use(database, "elsewhere", on="d")
    use(database, "compared", on=None)
    assert used(database) == [("first",), ("second",)]
    assert used(database, "d") == [("elsewhere",)]


def test_rounds_that_were_in_use_together_stay_together(database: Database) -> None:
    candidates.record_search(database, SEARCH, "c", ["minilm"], 5)
    use(database, "one", "two", "three")
    use(database, "one")
    assert used(database) == [("one",), ("one", "two", "three")]
    _, several = recipes.used_recipes(database, "c")
    assert several.recipe_id == "one"


def test_the_last_use_is_the_last_though_the_clock_was_set_back(database: Database) -> None:
    candidates.record_search(database, SEARCH, "c", ["minilm"], 5)
    use(database, "before")
    with database.transaction() as tx:
        tx.execute("UPDATE recipe_uses SET used_at = used_at + INTERVAL 1 year")
    for name in ("after", "before", "after"):
        use(database, name)
        assert used(database)[0] == (name,)
    assert len(used(database)) == 2


def test_a_search_is_as_old_as_its_last_use(database: Database) -> None:
    def is_new() -> object:
        [new] = database.column("SELECT created_at > TIMESTAMPTZ '2001-01-01' FROM searches")
        return new

    candidates.record_search(database, SEARCH, "c", ["minilm"], 5)
    with database.transaction() as tx:
        tx.execute("UPDATE searches SET created_at = TIMESTAMPTZ '2000-01-01'")
    assert not is_new()
    candidates.record_search(database, SEARCH, "c", ["minilm"], 5)
    assert is_new()
