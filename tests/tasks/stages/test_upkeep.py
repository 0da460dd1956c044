"""Laws of a store's upkeep: exports are checked, and what is removed is what was shown."""

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread

import pytest

from infra.ids import BenchmarkId, RecipeId
from infra.records import Query
from infra.settings import RetentionSettings, Settings
from infra.store import Database, annotations, benchmarks, recipes
from infra.store.check import check_database, check_files, leftovers
from tasks.benchmarks import write_benchmark
from tasks.stages.upkeep import Pruning, check_exports, coverages
from tests.fakes.benchmarks import people_benchmark
from tests.fakes.stores import whole_store
from tests.tasks.stages.generate.world import CODES, also_collected, judged_store, judgement

EVERYTHING = RetentionSettings(superseded_days=0, outputs_days=0, replies_days=0, searches_days=0)
IN_A_DAY = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return whole_store(tmp_path / "store")


def pruning(database: Database) -> Pruning:
    return Pruning(Settings(store=database.settings, retention=EVERYTHING), IN_A_DAY)


def test_labels_of_an_earlier_release_count_for_their_collection(database: Database) -> None:
    [(collection, coverage)] = coverages(database)
    assert collection == "jsonl"
    assert {item.number for item in coverage.covered} == {0}


def test_what_a_collection_published_stays_though_its_search_names_another(tmp_path: Path) -> None:
    shared = judged_store(tmp_path)[0]
    theirs = Query.of("another question")
    also_collected(shared, "e", [theirs])
    former, later = RecipeId("former"), RecipeId("later")
    for number, recipe_id in enumerate((former, later)):
        body = {"model": {"model": "m"}, "configuration": "single", "max_try_time": number}
        recipes.record_recipes(shared, {recipe_id: body}, used_on="e")
        judged = [judgement(theirs.query_id, code.code_id, recipe_id=recipe_id) for code in CODES]
        annotations.add_annotations(shared, judged)
        published = benchmarks.Published(
            benchmark_id=BenchmarkId("b"), name="e-agents", collection="e",
            label_origin=annotations.label_origin(former), folder="/nowhere",
        )  # fmt: skip
        if recipe_id == former:
            benchmarks.record_benchmark(shared, published)
    found = {item.collection: item.coverage.sets for item in coverages(shared)}
    r1 = RecipeId("r1")  # was used on the collection that gave the search its name
    assert found == {"c": ((r1,),), "e": ((later,), (former,), (r1,))}
    assert superseded(shared, EVERYTHING) == 0
    assert superseded(shared, EVERYTHING.model_copy(update={"protect": ("current",)})) == 2


def superseded(database: Database, settings: RetentionSettings) -> int:
    """Return how many annotations would go."""
    kept = Pruning(Settings(store=database.settings, retention=settings), IN_A_DAY)
    return next(item.rows for item in kept.find() if item.what == "superseded annotations")


def test_what_is_shown_is_removed_and_the_store_is_whole_afterwards(database: Database) -> None:
    left = database.settings.vectors / ".file.arrow.123.partial"
    left.write_text("half")
    os.utime(left, (time.time() - 90_000,) * 2)
    shown = {item.what: item.rows for item in pruning(database).find() if item.rows}
    assert shown == {"entries of journal.sqlite": 1, "files of killed runs": 1}
    pruning(database).remove()
    assert [item for item in pruning(database).find() if item.rows] == []
    assert not left.exists()
    settings = database.settings
    found = [*check_database(settings, thorough=True), *check_files(settings, thorough=True)]
    assert [item for item in found if item.problem] == []


def test_files_that_a_run_removes_meanwhile_disturb_nobody(database: Database) -> None:
    stop = Event()

    def work() -> None:
        partial = database.settings.folder / ".stage.json.1.partial"
        while not stop.is_set():
            partial.touch()
            partial.unlink()

    run = Thread(target=work)
    run.start()
    try:
        assert all(leftovers(database.settings) == [] for _ in range(100))
    finally:
        stop.set()
        run.join()


def test_replies_stay_for_ever_where_the_settings_say_no_days(database: Database) -> None:
    kept = EVERYTHING.model_copy(update={"replies_days": None})
    found = Pruning(Settings(store=database.settings, retention=kept), IN_A_DAY).find()
    assert all("entries" not in item.what for item in found)


def test_an_export_that_is_gone_is_a_note(database: Database) -> None:
    found = list(check_exports(database, thorough=True))
    assert [(item.is_fault, "no exported benchmark" in item.problem) for item in found] == [
        (False, True),
        (False, True),
    ]


def test_an_export_with_other_labels_under_its_name_is_found(
    database: Database, tmp_path: Path
) -> None:
    whole, folder = people_benchmark(), tmp_path / "b"
    honest = write_benchmark(whole, folder)
    fewer = whole.model_copy(update={"labels": whole.labels[:1]})
    forged = write_benchmark(fewer, folder).model_copy(update={"fingerprint": honest.fingerprint})
    (folder / "manifest.json").write_text(forged.model_dump_json())
    published = benchmarks.Published(
        benchmark_id=BenchmarkId(honest.fingerprint),
        name=honest.name,
        collection="jsonl",
        label_origin=honest.label_origin,
        folder=str(folder),
    )
    benchmarks.record_benchmark(database, published)
    problems = [
        [
            item.problem
            for item in check_exports(database, thorough=thorough)
            if item.check.startswith(honest.name)
        ]
        for thorough in (False, True)
    ]
    assert problems[0] == [""]
    assert "holds another benchmark than" in problems[1][0]
