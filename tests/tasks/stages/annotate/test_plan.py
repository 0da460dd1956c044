"""Laws of plans: which pending pairs a run takes, and what bounds all of its rounds."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from prefect.logging import disable_run_logger

from agents import journal_ledger
from infra.collected import Collected
from infra.identity import RecipeId, SearchId
from infra.records import Candidate, Code, Query, SourceInfo
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    ReannotationSettings,
    Reason,
    Settings,
    StoreSettings,
)
from infra.store import Database, candidates, corpus, open_database
from infra.store.pending import PendingCounts, PendingGroup, Selection, own_keys, pairs_in
from tasks.runtime.references import RecipeReference, SearchReference
from tasks.stages.annotate.monitor import store_annotations
from tasks.stages.annotate.plan import (
    AnnotationRun,
    PendingRound,
    choose_pairs,
    current_recipe,
    pending_rounds,
    plan_of,
    taken_pairs,
)
from tasks.stages.annotate.shard import judge_pairs
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.fakes.stores import labels_by

PAIRS = 12

NEW, FAILED, STALE = 40, 3, 100
ALL: dict[Reason, int] = {"new_queries": NEW, "failed": FAILED, "outdated": STALE}


class Alternating(ScriptedServer):
    """A model that answers 1 for every second query."""

    def __init__(self) -> None:
        super().__init__([])

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        number = int(call["query"].rpartition(" ")[2])
        verdict = "answers" if number % 2 == 0 else "does_not_answer"
        return {"reply": {"asked": "a", "deviations": "d", "verdict": verdict}}


@pytest.fixture
def model() -> Iterator[Alternating]:
    with Alternating() as server:
        yield server


class World:
    """A store with labelled pairs.

    Args:
        folder: Its folder.
        model: The model.
    """

    def __init__(self, folder: Path, model: Alternating) -> None:
        self.settings = Settings(
            store=StoreSettings(folder=folder),
            llm=LanguageModelSettings(
                model="openai/m", base_url=model.base_url, api_key=KEY, max_retries=0
            ),
            annotation=AnnotationSettings(configuration="single", gold_questions=0),
        )
        self.database: Database = open_database(self.settings.store)
        queries = tuple(Query.of(f"query number {number}") for number in range(PAIRS))
        code = Code.of("def f(x):\n    return x")
        info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
        content = Collected(info=info, queries=queries, codes=(code,))
        corpus.replace_collections(self.database, "print", {"c": content}, annotated="c")
        candidates.record_search(self.database, SearchId("s"), "c", ["made"], 1)
        rows = [
            Candidate(query_id=query.query_id, code_id=code.code_id, rank=1, similarity=1,
                      by_encoder={})
            for query in queries
        ]  # fmt: skip
        candidates.add_candidates(self.database, SearchId("s"), rows)
        self.search = SearchReference(
            search_id=SearchId("s"), collection="c", queries=PAIRS, candidates=PAIRS
        )
        self.recipe: RecipeReference = current_recipe(self.settings.committee)
        self.run = AnnotationRun.of(self.search, self.recipe, self.settings)
        with disable_run_logger(), own_keys(self.settings.store.folder):
            (plan,) = choose_pairs.fn(self.run, pending_rounds(self.database, self.run))
            pairs = list(pairs_in(self.database, "c", plan.pairs_file))
        places = asyncio.Semaphore(4)
        ledger = journal_ledger(self.settings.store, self.settings.llm)
        judged = asyncio.run(
            judge_pairs(pairs, self.settings.committee, plan.recipe, ledger, places)
        )
        store_annotations(self.database, judged.annotations)


@pytest.fixture
def world(tmp_path: Path, model: Alternating) -> World:
    return World(tmp_path / "store", model)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, {"new_queries": 2 * PAIRS}),
        ({"pairs": 10}, {"new_queries": 10}),
        ({"pairs": 27}, {"new_queries": 2 * PAIRS}),
        ({"limits": {"new_queries": 7}}, {"new_queries": 7}),
    ],
)
def test_numbers_that_a_person_gives_are_those_that_the_plan_counts_over_all_rounds(
    world: World, policy: dict[str, Any], expected: dict[Reason, int]
) -> None:
    """The first of three rounds has judged all pairs."""
    update = {
        "reannotation": ReannotationSettings(**policy),
        "annotation": world.settings.annotation.model_copy(update={"rounds": 3}),
    }
    settings = world.settings.model_copy(update=update)
    run = AnnotationRun.of(world.search, world.recipe, settings)
    rounds = pending_rounds(world.database, run)
    plan = plan_of(world.database, run, rounds)
    assert {item.reason: item.taken for item in plan.reasons if item.taken} == expected
    with disable_run_logger():
        chosen = choose_pairs.fn(run, rounds)
    assert sum(of_round.pairs for of_round in chosen) == expected.get("new_queries", 0)
    assert all(of_round.pairs_file.is_file() == bool(of_round.pairs) for of_round in chosen)


def round_of(groups: list[PendingGroup]) -> PendingRound:
    """Return a round with groups of pending pairs."""
    recipe = RecipeReference(recipe_id=RecipeId("r"), model="m")
    selection = Selection(
        search_id=SearchId("s"), recipe_id=recipe.recipe_id, labels=labels_by("s", ["r"])
    )
    return PendingRound(recipe, {}, selection, PendingCounts(200, 5, 0, groups))


ROUND = round_of([PendingGroup(reason, True, RecipeId(""), "", n) for reason, n in ALL.items()])


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, [ALL, ALL]),
        ({"take": ("outdated", "failed")}, [{"outdated": 100, "failed": 3}] * 2),
        ({"take": ("outdated", "failed"), "pairs": 101}, [{"outdated": 100, "failed": 1}, {}]),
        ({"pairs": 145}, [ALL, {"new_queries": 2}]),
        ({"limits": {"outdated": 7}}, [ALL | {"outdated": 7}, {"new_queries": 40, "failed": 3}]),
        ({"limits": {"new_queries": 0}, "pairs": 50}, [{"failed": 3, "outdated": 47}, {}]),
    ],
)  # fmt: skip
def test_reasons_are_taken_in_their_order_within_limits_that_hold_over_all_rounds(
    policy: dict[str, Any], expected: list[dict[Reason, int]]
) -> None:
    taken = taken_pairs([ROUND, ROUND], ReannotationSettings(**policy))
    assert [list(each.items()) for each in taken] == [list(each.items()) for each in expected]


def test_failed_pairs_that_have_to_wait_are_not_pending() -> None:
    pending = round_of(
        [
            PendingGroup("failed", False, RecipeId(""), "", 4),
            PendingGroup("failed", True, RecipeId(""), "", 2),
            PendingGroup("outdated", True, RecipeId("r"), "screener", 3),
            PendingGroup("outdated", True, RecipeId("q"), "arbiter,screener", 5),
            PendingGroup("outdated", True, RecipeId("q"), "screener", 1),
        ]
    )
    assert pending.pending == {"failed": 2, "outdated": 9}
    assert pending.not_due == 4
