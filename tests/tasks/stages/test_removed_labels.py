"""Laws of publishing when recipes change: nothing is lost, and what is lost has a stated reason.

Covers `tasks.stages.publish`, `infra.store.evidence`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.logging import disable_run_logger

from infra.settings import PublishSettings
from infra.store import Database, corpus, generated
from infra.store.benchmarks import Published
from infra.store.recipes import Body
from tasks.benchmarks import Manifest, read_benchmark, read_manifest
from tasks.benchmarks.redistribution import UNLICENSED
from tasks.reports.diff import difference, difference_document
from tasks.reports.render import markdown_page
from tasks.runtime.references import CollectedSource
from tasks.stages.labels import label_sets
from tasks.stages.publish import publish_benchmark
from tests.tasks.stages.generate.world import (
    CODES,
    QUERIES,
    ROUNDS,
    answer,
    judged_store,
    label,
)
from tests.tasks.stages.test_coverage import body, identity, judge, use

World = tuple[Database, CollectedSource, Path]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with disable_run_logger():
        yield


@pytest.fixture
def world(tmp_path: Path) -> World:
    return *judged_store(tmp_path, rounds=0), tmp_path / "out"


def publish(world: World, **chosen: object) -> Manifest:
    """Publish the agents' labels and return the manifest."""
    database, source, folder = world
    settings = PublishSettings.model_validate({"folder": folder, **chosen})
    with database.kept_open():
        [labels] = label_sets(database, source)
        published = publish_benchmark.fn(database, labels, settings)
    assert isinstance(published, Published)
    return read_manifest(Path(published.folder))


def judged_by(world: World, recipe: Body, *queries: int) -> None:
    with world[0].kept_open():
        use(world[0], recipe)
        for query in queries:
            met = ("screener",) if query == 0 else ("screener", "writer")
            judge(world[0], recipe, query, *met)


def test_a_changed_prompt_takes_no_label_away_and_the_manifest_says_who_gave_each(
    world: World,
) -> None:
    first, second = body(), body(writer="changed")
    judged_by(world, first, 0, 1, 2)
    before = publish(world)
    assert [(item.labels, item.stale) for item in before.recipes] == [(3, 0)]
    assert before.recipes[0].body == first
    kept = read_benchmark(world[2] / "c-agents")
    judged_by(world, second, 1)
    after = publish(world)
    assert (after.counts["labels"], after.removed) == (3, {})
    assert [(item.recipe_id, item.labels, item.stale) for item in after.recipes] == [
        (identity(first), 2, 1),
        (identity(second), 1, 0),
    ]
    assert (after.recipes[1].model, after.recipes[1].configuration) == ("openai/m", "writer")
    assert after.recipe == second
    written = read_benchmark(world[2] / "c-agents")
    assert {item.query_id: item.origin.removeprefix("agents:") for item in written.labels} == {
        QUERIES[0].query_id: identity(first),
        QUERIES[1].query_id: identity(second),
        QUERIES[2].query_id: identity(first),
    }
    card = (world[2] / "c-agents" / "README.md").read_text("utf-8")
    assert "Labels by former recipes stand" in card
    use(world[0], first)
    returned = publish(world)
    assert returned.fingerprint == before.fingerprint, "the former settings give the former labels"
    assert read_benchmark(world[2] / "c-agents").labels == kept.labels


def test_a_changed_label_names_what_changed_in_the_recipe(world: World, tmp_path: Path) -> None:
    judged_by(world, body(), 0, 1)
    publish(world)
    before = read_benchmark((world[2] / "c-agents").rename(tmp_path / "before"))
    changed = body(writer="changed")
    use(world[0], changed)
    judge(world[0], changed, 1, "screener", "writer", label=1)
    publish(world)
    change = difference(before, read_benchmark(world[2] / "c-agents"))
    [flip] = change.flips
    assert (flip.before, flip.after, flip.changed) == (0.0, 1.0, ("prompts.writer",))
    assert "another recipe: prompts.writer" in markdown_page(difference_document(change))


def test_each_lost_label_has_a_reason(tmp_path: Path) -> None:
    database, source = judged_store(tmp_path)
    world = (database, source, tmp_path / "out")
    generated.add_answers(database, [(answer(1), ())])
    assert publish(world, generated="verified").counts["labels"] == 7
    label(database, 0, 0, None, ROUNDS[0])
    label(database, 0, 1, None, ROUNDS[0], status="failed")
    with database.transaction() as tx:
        tx.execute("DELETE FROM collection_queries WHERE query_id = ?", [QUERIES[2].query_id])
        tx.execute(
            "DELETE FROM candidates WHERE query_id = ? AND code_id = ?",
            [QUERIES[1].query_id, CODES[0].code_id],
        )
    after = publish(world)
    assert after.counts["labels"] == 1
    assert after.removed == {
        "the code is no candidate of the query any more": 1,
        "the collection has lost the query": 2,
        "the pair is not judged to the end": 1,
        "the pair is undecided": 1,
        "the written answer is not exported any more": 1,
    }
    assert publish(world) == after, "nothing more is lost, and what was lost stays stated"
    label(database, 0, 0, 1, ROUNDS[0])
    assert publish(world).removed == {}


def test_licence_and_support_are_reasons(tmp_path: Path) -> None:
    database, source = judged_store(tmp_path)
    world = (database, source, tmp_path / "out")
    publish(world)
    with database.transaction() as tx:
        tx.execute("UPDATE annotations SET support = 'void_oracle' WHERE label = 1")
        tx.execute(
            "UPDATE collection_codes SET licence = 'unknown' WHERE code_id = ?", [CODES[0].code_id]
        )
    assert publish(world, support=["screened"]).removed == {
        UNLICENSED: 3,
        "the label has not the support that is exported": 1,
    }


def test_an_export_that_is_damaged_loses_nothing(tmp_path: Path) -> None:
    database, source = judged_store(tmp_path)
    world = (database, source, tmp_path / "out")
    publish(world)
    (tmp_path / "out" / "c-agents" / "labels.parquet").write_bytes(b"no table")
    label(database, 0, 0, None, ROUNDS[0])
    assert publish(world).removed == {}
    assert corpus.label_origins(database, "c") == []
