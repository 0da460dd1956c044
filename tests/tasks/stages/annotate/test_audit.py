"""Laws of the stability audit: asked anew, never published, compared with what stands.

Covers `flows.audit`, which the tests of the flows run.
"""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from prefect.logging import disable_run_logger

from infra.collected import Collected
from infra.errors import StabilityError
from infra.ids import RecipeId, SearchId
from infra.records import Candidate, Code, Query, SourceInfo
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    ReannotationSettings,
    Reason,
    Settings,
    StoreSettings,
)
from infra.store import Database, candidates, corpus, open_database, recipes
from infra.store.audits import load_audits
from infra.store.pending import pairs_in
from tasks.runtime.references import RecipeReference, SearchReference
from tasks.stages.annotate.audit import Audit, compare_audit, plan_audit, raise_alarm
from tasks.stages.annotate.judge import judge_all
from tasks.stages.annotate.pending import Taken
from tasks.stages.annotate.plan import (
    AnnotationPlan,
    current_recipe,
    in_round,
    plan_annotation,
)
from tasks.stages.annotate.rounds import AnnotationRun
from tasks.stages.annotate.run_plan import planned_run
from tasks.stages.annotate.sinks import LocalPairs
from tests.fakes.llm_server import KEY, ScriptedServer

PAIRS = 12


class Fickle(ScriptedServer):
    """A model that answers 1 for every second query, and for ``turned`` the contrary."""

    def __init__(self) -> None:
        super().__init__([])
        self.turned: tuple[int, ...] = ()

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        number = int(call["query"].rpartition(" ")[2])
        answers = (number % 2 == 0) != (number in self.turned)
        verdict = "answers" if answers else "does_not_answer"
        return {"reply": {"asked": "a", "deviations": "d", "verdict": verdict}}


@pytest.fixture
def model() -> Iterator[Fickle]:
    with Fickle() as server:
        yield server


class World:
    """A store with labelled pairs.

    Args:
        folder: Its folder.
        model: The model.
    """

    def __init__(self, folder: Path, model: Fickle) -> None:
        self.settings = Settings(
            store=StoreSettings(folder=folder),
            llm=LanguageModelSettings(
                model="openai/m", base_url=model.base_url, api_key=KEY, max_retries=0
            ),
            annotation=AnnotationSettings(configuration="single", canaries=0),
            reannotation=ReannotationSettings(audit_pairs=8),
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
        self.recipe: RecipeReference = current_recipe(self.settings)
        self.run = AnnotationRun(self.search, self.recipe, self.settings)
        with disable_run_logger():
            self.judge(plan_annotation.fn(self.run))

    def judge(self, plan: AnnotationPlan, at_most: int = PAIRS) -> None:
        pairs = list(pairs_in(self.database, "c", plan.pairs_file))[:at_most]
        with LocalPairs(pairs, 4, self.database) as source:
            asyncio.run(judge_all(source, self.settings, plan.recipe))

    def plan_audit(self) -> AnnotationPlan:
        with disable_run_logger():
            return plan_audit.fn(self.run)

    def audit(self) -> Audit:
        plan = self.plan_audit()
        self.judge(plan)
        with disable_run_logger():
            return compare_audit.fn(self.run, plan)


@pytest.fixture
def world(tmp_path: Path, model: Fickle) -> World:
    return World(tmp_path / "store", model)


def test_an_audit_asks_anew_counts_as_no_label_and_is_kept(world: World, model: Fickle) -> None:
    assert len(model.calls) == PAIRS
    found = world.audit()
    assert len(model.calls) == PAIRS + 8, "kept replies are not asked for their stability"
    assert (found.number, found.found.pairs, found.found.alpha) == (1, 8, 1.0)
    assert found.alarm == ""
    raise_alarm(found)
    (stored,) = load_audits(world.database)
    assert (stored.pairs, stored.alpha, stored.recipe_id) == (8, 1.0, world.recipe.recipe_id)
    plan = planned_run(world.database, world.run)
    assert (plan.fresh, plan.pending) == (PAIRS, 0)


def test_an_audit_of_labels_that_turn_is_an_alarm_after_everything_is_stored(
    world: World, model: Fickle
) -> None:
    model.turned = tuple(range(PAIRS))
    found = world.audit()
    assert found.found.alpha is not None
    assert found.found.alpha < 0
    assert load_audits(world.database)
    with pytest.raises(StabilityError, match=r"labels of c are not stable: alpha -.* below 0.8"):
        raise_alarm(found)


def test_a_second_audit_draws_and_asks_anew_and_an_interrupted_one_goes_on(
    world: World, model: Fickle
) -> None:
    world.audit()
    plan = world.plan_audit()
    assert plan.recipe.audit == 2
    assert in_round(plan.recipe, world.settings) == ", audit 2"
    drawn = {pair.key for pair in pairs_in(world.database, "c", plan.pairs_file)}
    world.judge(plan, at_most=5)
    again = world.plan_audit()
    left = {pair.key for pair in pairs_in(world.database, "c", again.pairs_file)}
    assert again.recipe == plan.recipe
    assert left < drawn
    assert len(left) == 3
    calls = len(model.calls)
    assert world.audit().found.pairs == 8
    assert len(model.calls) == calls + 3


def test_a_plan_with_an_audit_says_how_many_pairs_it_takes(world: World) -> None:
    policy = ReannotationSettings(take=("audit",), audit_pairs=50)
    settings = world.settings.model_copy(update={"reannotation": policy})
    plan = planned_run(world.database, world.run.by(settings))
    ((audit,),) = (plan.reasons,)
    assert (audit.reason, audit.taken) == ("audit", PAIRS)
    assert plan.expected.tokens.expected > 0


@pytest.mark.parametrize("take", [(), ("audit",)])
def test_a_declined_plan_and_an_audit_put_no_recipe_into_use(
    world: World, take: tuple[Reason, ...]
) -> None:
    def in_use() -> RecipeId:
        return recipes.used_recipes(world.database, world.search.collection)[0].recipe_id

    changed = world.settings.model_copy(update={"llm": LanguageModelSettings(model="openai/n")})
    policy = world.settings.reannotation.model_copy(update={"take": take})
    settings = changed.model_copy(update={"reannotation": policy})
    recipe = current_recipe(settings)
    with disable_run_logger():
        plan = plan_annotation.fn(AnnotationRun(world.search, recipe, settings))
        assert (plan.pending, in_use()) == (0, world.recipe.recipe_id)
        assert recipes.load_recipe(world.database, recipe.recipe_id), "it is known all the same"
        plan_annotation.fn(AnnotationRun(world.search, recipe, changed))
    assert in_use() == recipe.recipe_id


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, {"new_queries": 2 * PAIRS, "audit": 8}),
        ({"pairs": 10}, {"new_queries": 10}),
        ({"pairs": 27}, {"new_queries": 2 * PAIRS, "audit": 3}),
        ({"limits": {"new_queries": 7, "audit": 5}}, {"new_queries": 7, "audit": 5}),
        ({"budgets_usd": {"new_queries": 0.0}}, {"audit": 8}),
    ],
)
def test_numbers_that_a_person_gives_are_those_that_the_plan_counts_over_all_rounds(
    world: World, policy: dict[str, Any], expected: dict[Reason, int]
) -> None:
    """The first of three rounds has judged all pairs."""
    given = {"take": ("new_queries", "audit"), "audit_pairs": 8, **policy}
    update = {
        "reannotation": ReannotationSettings(**given),
        "annotation": world.settings.annotation.model_copy(update={"rounds": 3}),
    }
    settings = world.settings.model_copy(update=update)
    plan = planned_run(world.database, world.run.by(settings))
    assert {item.reason: item.taken for item in plan.reasons if item.taken} == expected
    with disable_run_logger():
        before: list[Taken] = []
        for of_round in world.run.by(settings).rounds:
            before += plan_annotation.fn(of_round, before).reasons
    assert sum(item.pairs for item in before) == expected.get("new_queries", 0)
