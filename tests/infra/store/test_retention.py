"""Laws of retention: what goes is old and superseded; labels that stand keep their evidence."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from infra.ids import RecipeId, SearchId
from infra.records import Code, Query
from infra.settings import RetentionSettings
from infra.store import Database
from infra.store.check import CollectionCoverage, Retention
from infra.store.coverage import Coverage, Covered
from tests.fakes.stores import whole_store
from tests.tasks.stages.generate.world import CODES, QUERIES, also_collected, judged_store

NEW, OLD = RecipeId("new"), RecipeId("former")
NOW = datetime.now(UTC)
EVERYTHING = RetentionSettings(superseded_days=0, outputs_days=0, replies_days=0, searches_days=0)
IN_A_DAY = NOW + timedelta(days=1)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """Return a store whose pairs one recipe has judged, and another two of the four labels."""
    database = whole_store(tmp_path / "store")
    with database.transaction() as tx:
        recipe = tx.value("SELECT recipe_id FROM recipes")
        for table in ("annotations", "llm_calls", "executions", "recipes"):
            tx.execute(f"UPDATE {table} SET recipe_id = ? WHERE recipe_id = ?", [OLD, recipe])
        tx.execute("UPDATE executions SET stdout = 'printed'")
        tx.execute(
            "INSERT INTO annotations SELECT * REPLACE ('new' AS recipe_id, now() AS annotated_at) "
            "FROM annotations WHERE path IN ('clear_match', 'unclear_passed')"
        )
        tx.execute(
            "INSERT INTO llm_calls SELECT * REPLACE ('new' AS recipe_id) FROM llm_calls "
            "SEMI JOIN (SELECT * FROM annotations WHERE recipe_id = 'new') "
            "USING (query_id, code_id)"
        )
        tx.execute("DELETE FROM benchmarks")
    return database


def covered(database: Database, *sets: Sequence[RecipeId]) -> list[CollectionCoverage]:
    """Return that sets of recipes stand one before the other."""
    with database.transaction() as tx:
        judged = tx.rows("SELECT DISTINCT recipe_id, met FROM annotations WHERE status <> 'failed'")
    items = tuple(
        Covered(RecipeId(str(recipe)), str(met), number, rounds.index(RecipeId(str(recipe))))
        for number, rounds in enumerate(sets)
        for recipe, met in judged
        if recipe in rounds
    )
    return [CollectionCoverage("jsonl", Coverage(covered=items, sets=tuple(map(tuple, sets))))]


def retention(
    database: Database, settings: RetentionSettings, *sets: Sequence[RecipeId]
) -> Retention:
    return Retention(database, settings, IN_A_DAY, covered(database, *sets))


def found(kept: Retention) -> list[int]:
    """Return numbers: outputs, annotations, candidates."""
    return [item.rows for item in kept.find()]


def left(database: Database) -> set[tuple[object, ...]]:
    with database.transaction() as tx:
        return set(tx.rows("SELECT path, recipe_id FROM annotations"))


def test_annotations_go_where_a_later_label_stands_and_nowhere_else(database: Database) -> None:
    before = left(database)
    kept = retention(database, EVERYTHING, [NEW], [OLD])
    assert found(kept) == [1, 2, 0]
    kept.remove()
    assert before - left(database) == {("clear_match", OLD), ("unclear_passed", OLD)}
    assert found(kept) == [0, 0, 0]
    with database.transaction() as tx:
        for table in ("llm_calls", "executions"):
            left_over = (
                f"SELECT count(*) FROM {table} ANTI JOIN annotations "
                "USING (query_id, code_id, recipe_id)"
            )
            assert tx.count(left_over) == 0
        assert tx.rows("SELECT DISTINCT stdout FROM executions") == [("printed",)]


def test_the_recipe_that_came_back_into_use_stands(database: Database) -> None:
    kept = retention(database, EVERYTHING, [OLD], [NEW])
    kept.remove()
    assert {recipe for _, recipe in left(database)} == {OLD}


def test_a_label_stands_only_where_all_rounds_have_judged(database: Database) -> None:
    kept = retention(database, EVERYTHING, [NEW, RecipeId("second round")], [OLD])
    assert found(kept)[1] == 0


def test_a_label_stands_although_the_next_recipe_left_the_pair_undecided(
    database: Database,
) -> None:
    with database.transaction() as tx:
        tx.execute(
            "UPDATE annotations SET status = 'undecided', label = NULL WHERE recipe_id = 'new'"
        )
    assert found(retention(database, EVERYTHING, [NEW], [OLD]))[1] == 0


def test_a_label_by_tests_stays_where_the_next_recipe_has_only_read_the_pair(
    database: Database,
) -> None:
    """An export of labels with a certain support rests on it."""
    with database.transaction() as tx:
        tx.execute("UPDATE annotations SET grade = 'valid_oracle' WHERE recipe_id = 'former'")
        tx.execute("UPDATE annotations SET grade = 'screened' WHERE recipe_id = 'new'")
    assert found(retention(database, EVERYTHING, [NEW], [OLD]))[1] == 0
    with database.transaction() as tx:
        tx.execute(
            "UPDATE annotations SET status = 'undecided', label = NULL, grade = 'undecided' "
            "WHERE recipe_id = 'former'"
        )
    assert found(retention(database, EVERYTHING, [NEW], [OLD]))[1] == 2, "no export has it"


def test_recipes_that_do_not_count_for_a_collection_keep_their_annotations(
    database: Database,
) -> None:
    assert found(retention(database, EVERYTHING, [NEW]))[1] == 0


def test_a_label_that_counts_in_another_collection_stays(database: Database) -> None:
    with database.transaction() as tx:
        tx.execute(
            "INSERT INTO searches SELECT * REPLACE ('other' AS search_id, 'c2' AS collection) "
            "FROM searches WHERE NOT pool"
        )
        tx.execute(
            "INSERT INTO candidates SELECT * REPLACE ('other' AS search_id) FROM candidates "
            "WHERE search_id <> 'pool'"
        )
    [first] = covered(database, [NEW], [OLD])
    [other] = covered(database, [OLD])
    both = [first, other._replace(collection="c2")]
    assert found(Retention(database, EVERYTHING, IN_A_DAY, both))[1] == 0


def test_the_longest_time_is_for_good(database: Database) -> None:
    longest = RetentionSettings(superseded_days=36_500, outputs_days=36_500, searches_days=36_500)
    assert found(retention(database, longest, [NEW], [OLD])) == [0, 0, 0]
    with pytest.raises(ValidationError):
        RetentionSettings(superseded_days=740_000)


def test_what_is_young_stays(database: Database) -> None:
    settings = RetentionSettings(superseded_days=10, outputs_days=10, searches_days=10)
    assert found(retention(database, settings, [NEW], [OLD])) == [0, 0, 0]
    never = RetentionSettings(superseded_days=None, outputs_days=None, searches_days=None)
    assert found(retention(database, never, [NEW], [OLD])) == [0, 0, 0]


def publish(database: Database, origin: str) -> None:
    with database.transaction() as tx:
        tx.execute(
            "INSERT INTO benchmarks VALUES ('b', 'jsonl-agents', 'jsonl', ?, '/b', "
            "(SELECT max(annotated_at) FROM annotations WHERE recipe_id = 'former'))",
            [origin],
        )


def test_what_a_published_benchmark_rests_on_stays_unless_told(database: Database) -> None:
    publish(database, "agents")
    assert found(retention(database, EVERYTHING, [NEW], [OLD])) == [0, 0, 0]
    told = EVERYTHING.model_copy(update={"protect": ("current",)})
    assert found(retention(database, told, [NEW], [OLD])) == [1, 2, 0]


def test_outputs_of_labels_that_stand_go_only_if_told_and_the_labels_stay(
    database: Database,
) -> None:
    before = left(database)
    told = RetentionSettings(superseded_days=None, outputs_days=0, protect=())
    kept = retention(database, told, [OLD])
    assert found(kept)[:2] == [2, 0]
    kept.remove()
    assert left(database) == before
    with database.transaction() as tx:
        assert tx.rows("SELECT DISTINCT stdout, stderr FROM executions") == [("", "")]


def test_replies_of_labels_that_stand_are_needed(database: Database) -> None:
    def keys(where: str) -> set[object]:
        with database.transaction() as tx:
            rows = tx.rows(
                "SELECT DISTINCT prompt_digest FROM llm_calls JOIN annotations "
                f"USING (query_id, code_id, recipe_id) WHERE {where}"
            )
        return {key for (key,) in rows}

    with database.transaction() as tx:
        tx.execute("UPDATE llm_calls SET prompt_digest = 'ab' || prompt_digest WHERE recipe_id = ?",
                   [NEW])  # fmt: skip
    superseded = keys("recipe_id = 'former' AND path IN ('clear_match', 'unclear_passed')")
    needed = set(retention(database, EVERYTHING, [NEW], [OLD]).needed_replies())
    whole = {str(key) for key in keys("true") - superseded}
    assert needed == whole
    told = EVERYTHING.model_copy(update={"protect": ()})
    assert retention(database, told, [NEW], [OLD]).needed_replies() == []


def test_candidates_of_a_search_go_once_the_collection_has_changed_and_is_searched_again(
    database: Database,
) -> None:
    assert found(retention(database, EVERYTHING, [OLD]))[2] == 0
    with database.transaction() as tx:
        tx.execute("UPDATE collections SET collected_at = now()")
    assert found(retention(database, EVERYTHING, [OLD]))[2] == 0, "it is not searched again yet"
    with database.transaction() as tx:
        tx.execute(
            "INSERT INTO searches SELECT * REPLACE ('later' AS search_id, "
            "(SELECT max(collected_at) FROM collections) AS created_at) FROM searches "
            "WHERE NOT pool"
        )
    kept = retention(database, EVERYTHING, [OLD])
    assert found(kept)[2] == 6
    kept.remove()
    with database.transaction() as tx:
        assert {name for (name,) in tx.rows("SELECT search_id FROM searches")} == {"pool", "later"}


def test_candidates_of_a_search_that_another_collection_uses_stay(tmp_path: Path) -> None:
    shared = judged_store(tmp_path)[0]
    also_collected(shared, "e", [Query.of("another question")])
    with shared.transaction() as tx:
        tx.execute("UPDATE collections SET collected_at = now() WHERE collection = 'c'")
        tx.execute(
            "INSERT INTO searches SELECT * REPLACE ('later' AS search_id, now() AS created_at) "
            "FROM searches"
        )
    assert found(Retention(shared, EVERYTHING, IN_A_DAY, []))[2] == 0
    with shared.transaction() as tx:
        tx.execute("DELETE FROM collections WHERE collection = 'e'")
    assert found(Retention(shared, EVERYTHING, IN_A_DAY, []))[2] == 8


def test_a_search_of_another_collection_neither_takes_a_searchs_place_nor_keeps_it(
    tmp_path: Path,
) -> None:
    """One that shares codes is searched later; one of labels alone has no search of its own."""
    shared = judged_store(tmp_path)[0]
    also_collected(shared, "labels", search=SearchId("none"))
    with shared.transaction() as tx:
        for table in ("searches", "candidates"):
            tx.execute(f"DELETE FROM {table} WHERE search_id = 'none'")
        tx.execute("UPDATE collections SET for_agents = false WHERE collection = 'labels'")
        tx.execute("UPDATE collections SET collected_at = now() WHERE collection = 'c'")
    also_collected(shared, "d", QUERIES, [CODES[0], Code.of("x = 1")], SearchId("d"))
    assert found(Retention(shared, EVERYTHING, IN_A_DAY, []))[2] == 0, "c is not searched again"
    with shared.transaction() as tx:
        tx.execute(
            "INSERT INTO searches SELECT * REPLACE ('later' AS search_id, now() AS created_at) "
            "FROM searches WHERE collection = 'c'"
        )
    assert found(Retention(shared, EVERYTHING, IN_A_DAY, []))[2] == 6
