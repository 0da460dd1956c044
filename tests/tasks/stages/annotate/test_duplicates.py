"""Laws of near duplicates: one is judged, the others take its label, whatever happens between.

Covers `infra.store.pending`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import pytest
from prefect.logging import disable_run_logger

from infra.collected import Collected
from infra.ids import SearchId
from infra.records import Annotation, Candidate, Code, Query, SourceInfo
from infra.settings import (
    AnnotationSettings,
    Configuration,
    LanguageModelSettings,
    ReannotationSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from infra.store import annotations, candidates, corpus, open_database
from infra.store.pending import read_keys
from sandbox.backends import backends
from tasks.runtime.references import RecipeReference, SearchReference
from tasks.stages.annotate.duplicates import label_duplicates
from tasks.stages.annotate.pending import Taken
from tasks.stages.annotate.plan import AnnotationPlan, current_recipe, plan_annotation
from tasks.stages.annotate.rounds import AnnotationRun
from tasks.stages.annotate.run_plan import planned_run
from tests.fakes.sandbox import PASSED, FakeSandbox
from tests.fakes.specified import SCREENING, SPECIFICATION, call_of

QUERY = Query.of("python add up the numbers of a list")
OTHER = Query.of("sum of a list")
TOTAL = "def total(items):\n    n = 0\n    for item in items:\n        n += item\n    return n"
TWIN = f"{TOTAL}  # the sum"
RENAMED = TOTAL.replace("    n ", "    found ").replace("n += item", "found += item")
RENAMED = RENAMED.replace("return n", "return found")
FROM_ONE = TOTAL.replace("n = 0", "n = 1")
CODES = tuple(Code.of(text) for text in (TOTAL, FROM_ONE, TWIN, RENAMED))
FIRST, NEAR_MISS, SECOND, THIRD = (code.code_id for code in CODES)
SEARCH, LATER, POOL = SearchId("s"), SearchId("t"), SearchId("p")


class World:
    """A store with two queries, whose candidates are given, and the settings of a run over them."""

    def __init__(self, folder: Path, configuration: Configuration = "spec") -> None:
        self.settings = Settings(
            store=StoreSettings(folder=folder / "store"),
            llm=LanguageModelSettings(model="openai/scripted"),
            annotation=AnnotationSettings(configuration=configuration, canaries=0),
            sandbox=SandboxSettings(backend="passing"),
        )
        self.database = open_database(self.settings.store)
        info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
        content = Collected(info=info, queries=(QUERY, OTHER), codes=CODES)
        corpus.replace_collections(self.database, "print", {"c": content}, annotated="c")
        candidates.record_search(self.database, SEARCH, "c", ["minilm"], 4)

    def add(self, codes: Sequence[str], query: Query = QUERY, search: SearchId = SEARCH) -> None:
        """Add candidates of a query, the best first."""
        found = [
            Candidate(query_id=query.query_id, code_id=code, rank=rank, similarity=1, by_encoder={})
            for rank, code in enumerate(codes, 1)
        ]
        candidates.add_candidates(self.database, search, found)

    @property
    def recipe(self) -> RecipeReference:
        return current_recipe(self.settings)

    def run(self, search: SearchId = SEARCH) -> AnnotationRun:
        found = SearchReference(search_id=search, collection="c", queries=2, candidates=4)
        return AnnotationRun(found, self.recipe, self.settings)

    def plan(self, search: SearchId = SEARCH) -> tuple[AnnotationPlan, list[str]]:
        """Return a run's plan, and the codes that are to be judged, in their order."""
        plan = plan_annotation.fn(self.run(search))
        keys = read_keys(plan.pairs_file)["code_id"].to_pylist() if plan.pending else []
        return plan, keys

    def judge(
        self,
        code: str,
        label: Literal[0, 1] | None = 1,
        query: Query = QUERY,
        status: Literal["labelled", "undecided", "failed"] = "labelled",
    ) -> None:
        """Store that a candidate was judged by the recipe in use."""
        calls = (call_of("specifier", SPECIFICATION), call_of("screener", SCREENING))
        annotation = Annotation(
            query_id=query.query_id, code_id=code, recipe_id=self.recipe.recipe_id,
            status=status, label=label if status == "labelled" else None, path="claims_hold",
            decided_by="claims", support="valid_oracle", calls=calls,
        )  # fmt: skip
        annotations.add_annotations(self.database, [annotation])

    def end_round(self) -> None:
        label_duplicates.fn(self.run())

    def labels(self) -> dict[str, tuple[int | None, str]]:
        """Return code → label and path of the first query's candidates by the recipe in use."""
        with self.database.transaction() as tx:
            rows = tx.rows(
                "SELECT code_id, label, path FROM annotations WHERE query_id = ? AND recipe_id = ?",
                [QUERY.query_id, self.recipe.recipe_id],
            )
        return {str(code): (label, str(path)) for code, label, path in rows}


@pytest.fixture(autouse=True)
def engine() -> Iterator[None]:
    backends.register("passing")(lambda settings: FakeSandbox(lambda *_: PASSED))
    with disable_run_logger():
        yield
    backends._entries.pop("passing")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_first_of_the_duplicates_of_each_query_is_judged_and_labels_all(world: World) -> None:
    world.add([SECOND, FIRST, NEAR_MISS, THIRD])
    world.add([FIRST, THIRD], OTHER)
    plan, judged = world.plan()
    assert judged == [SECOND, NEAR_MISS, FIRST]
    assert (plan.pending, plan.reasons) == (3, (Taken("new_queries", 6),))
    world.judge(SECOND, 1)
    world.judge(NEAR_MISS, 0)
    world.end_round()
    assert world.labels() == {
        SECOND: (1, "claims_hold"),
        NEAR_MISS: (0, "claims_hold"),
        FIRST: (1, "duplicate"),
        THIRD: (1, "duplicate"),
    }
    world.judge(FIRST, 0, OTHER)
    world.end_round()
    assert world.plan()[0].pairs == 0
    shown = planned_run(world.database, world.run())
    assert (shown.candidates, shown.fresh) == (6, 6)


def test_a_killed_run_is_taken_up_where_it_was(world: World) -> None:
    world.add([FIRST, NEAR_MISS, SECOND])
    world.judge(FIRST)  # and killed before the round was over
    assert world.plan()[1] == [NEAR_MISS]
    assert world.labels()[SECOND] == (1, "duplicate")


def test_a_new_candidate_that_duplicates_a_labelled_one_asks_nobody(world: World) -> None:
    world.add([FIRST])
    world.judge(FIRST, 0)
    candidates.record_search(world.database, LATER, "c", ["minilm"], 2)
    world.add([FIRST, SECOND], search=LATER)
    plan, judged = world.plan(LATER)
    assert (plan.pairs, judged) == (0, [])
    assert world.labels()[SECOND] == (0, "duplicate")


def test_what_a_leaderboard_asks_for_may_duplicate_a_candidate(world: World) -> None:
    world.add([FIRST])
    world.judge(FIRST, 0)
    candidates.record_search(world.database, POOL, "c", ["bm25"], 4, pool=True)
    world.add([SECOND], search=POOL)
    assert world.plan(POOL)[0].pairs == 0
    assert world.labels()[SECOND] == (0, "duplicate")


@pytest.mark.parametrize("status", ["failed", "undecided"])
def test_where_the_first_got_no_label_the_next_one_is_judged(
    world: World, status: Literal["failed", "undecided"]
) -> None:
    world.add([FIRST, SECOND, THIRD])
    assert world.plan()[1] == [FIRST]
    world.judge(FIRST, status=status)
    world.end_round()
    assert set(world.labels()) == {FIRST}
    waits = ReannotationSettings(max_tries=1)
    world.settings = world.settings.model_copy(update={"reannotation": waits})
    assert world.plan()[1] == [SECOND]
    world.judge(SECOND, 0)
    world.end_round()
    expected = {SECOND: (0, "claims_hold"), THIRD: (0, "duplicate")}
    own = (None, "claims_hold") if status == "undecided" else (0, "duplicate")
    assert world.labels() == expected | {FIRST: own}


def test_a_label_that_is_given_anew_is_that_of_all_duplicates_whatever_bounds_the_run(
    world: World,
) -> None:
    world.add([FIRST, SECOND])
    world.judge(FIRST, 1)
    world.end_round()
    model = LanguageModelSettings(model="openai/another")
    of_one = ReannotationSettings(pairs=1)
    world.settings = world.settings.model_copy(update={"llm": model, "reannotation": of_one})
    assert world.plan()[1] == [FIRST]
    world.judge(FIRST, 0)
    world.end_round()
    assert world.labels() == {FIRST: (0, "claims_hold"), SECOND: (0, "duplicate")}


@pytest.mark.parametrize("configuration", ["gated", "paper"])
def test_without_specifications_every_candidate_is_judged(
    tmp_path: Path, configuration: Configuration
) -> None:
    world = World(tmp_path, configuration)
    world.add([FIRST, SECOND])
    assert world.plan()[1] == [FIRST, SECOND]
    world.judge(FIRST)
    assert world.plan()[1] == [SECOND]
