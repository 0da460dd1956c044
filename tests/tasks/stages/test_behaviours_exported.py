"""The law of exports over any labels and behaviours: what behaves alike is labelled alike, or says.

Covers `infra.store.evidence`, `tasks.stages.labels`.
"""

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from prefect.logging import disable_run_logger

from infra.ids import RecipeId
from infra.settings import PublishSettings
from infra.store import Database
from infra.store.behaviours import (
    CodeBehaviour,
    Comparison,
    DueComparison,
    due_comparisons,
    record_comparisons,
)
from tasks.benchmarks import Behaviour, Benchmark, read_benchmark, read_manifest
from tasks.stages.labels import current_labels, judging_recipe, labels_of_agents
from tasks.stages.publish import publish_benchmark
from tests.tasks.stages.generate.world import CODES, QUERIES, ROUNDS, judged_store, label


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with disable_run_logger():
        yield


Own = dict[tuple[int, int], Literal[0, 1]]  # query and code, by number → label


def draw_labels(draw: random.Random, database: Database, recipe_id: RecipeId) -> Own:
    """Store any labels of all pairs by a recipe; return them."""
    own: Own = {(q, c): draw.choice((0, 1)) for q in range(len(QUERIES)) for c in range(len(CODES))}
    for (query, code), value in own.items():
        label(database, query, code, value, recipe_id)
    return own


def draw_behaviours(
    draw: random.Random, due: DueComparison, own: Own, recipe_id: RecipeId
) -> Comparison:
    """Return any behaviours of a query's codes, any agreed labels, with and without reasons."""
    query = [item.query_id for item in QUERIES].index(due.query_id)
    codes = tuple(
        CodeBehaviour(
            code_id=code.code_id,
            recipe_id=recipe_id,
            outcomes=("held",),
            behaviour=draw.choice(("", "b", "b", "b", "b")),
            label=own[query, place],
            agreed=draw.choice((0, 1)),
            reason=draw.choice(("", "the claims cannot tell them apart")),
        )
        for place, code in enumerate(CODES)
    )
    return Comparison(
        query_id=due.query_id, comparison=due.comparison, claims=("1 => 2",), codes=codes
    )


def differing(benchmark: Benchmark) -> list[Behaviour]:
    """Return the behaviours whose codes have other labels than another code that behaves alike."""
    relevance = {
        (str(item.query_id), str(item.code_id)): item.relevance for item in benchmark.labels
    }
    labels = defaultdict(set)
    for item in benchmark.behaviours:
        labels[item.query_id, item.behaviour].add(relevance[item.query_id, item.code_id])
    return [
        item
        for item in benchmark.behaviours
        if item.behaviour and len(labels[item.query_id, item.behaviour]) > 1
    ]


@pytest.mark.parametrize(("rounds", "seed"), [(1, 3), (3, 2)])
def test_labels_of_equal_behaviour_never_differ_in_an_export_without_a_stated_reason(
    tmp_path: Path, rounds: int, seed: int
) -> None:
    database, source = judged_store(tmp_path, rounds)
    recipe = judging_recipe(database, source.search)
    assert recipe is not None
    labels = labels_of_agents(database, source, recipe)
    draw = random.Random(seed)
    made: list[Comparison] = []
    for number, recipe_id in enumerate(ROUNDS[:rounds]):
        own = draw_labels(draw, database, recipe_id)
        due = due_comparisons(database, current_labels(database, labels), number, "p")
        found = [draw_behaviours(draw, item, own, recipe_id) for item in due]
        record_comparisons(database, "c", recipe_id, found)
        made += found
    assert len(made) == rounds * len(QUERIES)
    published = publish_benchmark.fn(database, labels, PublishSettings(folder=tmp_path / "out"))
    assert published is not None
    exported = read_benchmark(Path(published.folder))
    assert differing(exported), "the draw has contradictions"
    assert all(item.reason for item in differing(exported))
    counts = read_manifest(Path(published.folder)).counts
    assert counts["contradictions"] == len({(i.query_id, i.code_id) for i in differing(exported)})
    changed = {
        (item.query_id, code.code_id)
        for item in made
        for code in item.codes
        if code.agreed != code.label
    }
    assert counts["changed_by_behaviour"] == len(changed)
    if rounds == 1:
        agreed = {(item.query_id, item.code_id): item.agreed for item in exported.behaviours}
        assert agreed == {item.key: item.relevance for item in exported.labels}


def test_an_export_is_written_anew_when_a_comparison_changes_a_label(tmp_path: Path) -> None:
    database, source = judged_store(tmp_path)
    recipe = judging_recipe(database, source.search)
    assert recipe is not None
    labels = labels_of_agents(database, source, recipe)
    settings = PublishSettings(folder=tmp_path / "out")
    first = publish_benchmark.fn(database, labels, settings)
    assert first is not None
    assert publish_benchmark.fn(database, labels, settings) == first
    [due, *_] = due_comparisons(database, current_labels(database, labels), 0, "p")
    behaviour = CodeBehaviour(
        code_id=CODES[0].code_id, recipe_id=ROUNDS[0], outcomes=("held",), behaviour="b",
        label=0, agreed=1, reason="as another",
    )  # fmt: skip
    comparison = Comparison(
        query_id=due.query_id, comparison=due.comparison, claims=("1 => 2",), codes=(behaviour,)
    )
    record_comparisons(database, "c", ROUNDS[0], [comparison])
    second = publish_benchmark.fn(database, labels, settings)
    assert second is not None
    assert second.benchmark_id != first.benchmark_id
    assert read_manifest(Path(second.folder)).counts["changed_by_behaviour"] == 1
