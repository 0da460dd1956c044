"""Laws of the stored recipes and of their uses."""

from pathlib import Path

import pytest

from infra.identity import RecipeId, SearchId
from infra.store import Database, candidates, recipes
from tests.fakes.stores import empty_store

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
