"""Laws of comparing candidates by what they do: once, resumable, for specified queries alone."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prefect.logging import disable_run_logger

from agents.claims.claim import Claim
from agents.claims.program import claims_program
from agents.committee.recipe import recipe_of
from agents.committee.travelling import CodeBehaviour as Travelled
from agents.committee.travelling import QueryBehaviour
from infra.errors import EngineUnavailableError, SandboxError
from infra.ids import QueryId, SearchId
from infra.records import Annotation, CaseResult, Execution, ExecutionResult, LanguageModelCall
from infra.settings import AnnotationSettings, SandboxSettings, Settings, StoreSettings
from infra.store import Database, annotations, candidates, recipes
from infra.store.behaviours import DueComparison, record_comparisons
from sandbox.backends import backends
from sandbox.base import CLOCK, Box
from tasks.runtime.references import RecipeReference, SearchReference
from tasks.stages.annotate import behaviours
from tasks.stages.annotate.behaviours import compare_behaviours, comparison_of
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.annotate.rounds import AnnotationRun
from tests.fakes.sandbox import FakeBox, FakeSandbox
from tests.tasks.stages.generate.world import CODES, QUERIES, SEARCH, judged_store

CLAIMS = tuple(Claim(arguments=str(number), value=str(number + 1)) for number in range(3))
ADAPTER = "from target import plus\n\ndef answer(x):\n    return plus(x)"


class ClaimBox(FakeBox):
    """A box in which every code holds every claim, or which fails."""

    def __init__(self, sandbox: "ClaimSandbox") -> None:
        super().__init__(lambda program, installed: ExecutionResult(outcome="passed"), frozenset())
        self._sandbox = sandbox

    async def run(
        self,
        program: str,
        *,
        hash_seed: int = 0,
        clock: float = CLOCK,
        code: str | None = None,
        timeout_s: float | None = None,
        apart: bool = False,
    ) -> ExecutionResult:
        """Return that all claims hold, unless the next run is to fail."""
        self._sandbox.runs += 1
        self._sandbox.programs.append(program)
        if self._sandbox.fails:
            raise self._sandbox.fails.pop()
        held = [CaseResult(name=f"test_claim_{n}", outcome="passed") for n in range(1, 4)]
        return ExecutionResult(outcome="passed", tests=tuple(held))


class ClaimSandbox(FakeSandbox):
    """A sandbox of such boxes: ``fails`` are the errors of the next runs, ``runs`` counts them.

    ``programs`` are those that were run.
    """

    def __init__(self) -> None:
        super().__init__(lambda program, installed: ExecutionResult(outcome="passed"))
        self.runs = 0
        self.programs: list[str] = []
        self.fails: list[Exception] = []
        self.is_gone = False

    async def check(self) -> str:
        """Return the name, unless the engine is gone."""
        if self.is_gone:
            raise EngineUnavailableError("no engine answers")
        return "claims"

    @asynccontextmanager
    async def _box(self) -> AsyncIterator[Box]:  # type: ignore[override]
        self.made += 1
        yield ClaimBox(self)


class World:
    """A store with three queries of two codes, which agents have judged by claims."""

    def __init__(self, folder: Path, sandbox: ClaimSandbox) -> None:
        self.sandbox = sandbox
        self.database: Database = judged_store(folder, rounds=0)[0]
        self.settings = Settings(
            store=StoreSettings(folder=folder / "store"),
            annotation=AnnotationSettings(configuration="spec"),
            sandbox=SandboxSettings(backend="claims"),
        )
        self.search = SearchReference(search_id=SEARCH, collection="c", queries=3, candidates=6)
        self.recipe: RecipeReference = current_recipe(self.settings)
        body = recipe_of(self.settings, self.recipe.sandbox)
        recipes.record_recipes(self.database, {self.recipe.recipe_id: body}, used_on="c")

    def judge(self, query: int, labels: Sequence[int], *, is_specified: bool = True) -> None:
        """Store annotations of a query's codes."""
        annotations.add_annotations(
            self.database,
            [
                annotation(self.recipe, query, code, label, is_specified=is_specified)
                for code, label in enumerate(labels)
            ],
        )

    def compare(self) -> int:
        return compare_behaviours.fn(AnnotationRun(self.search, self.recipe, self.settings))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self.database.transaction() as tx:
            return tx.rows(sql)


def annotation(
    recipe: RecipeReference, query: int, code: int, label: int, *, is_specified: bool
) -> Annotation:
    """Return an annotation by claims that all hold, or one by the screener's reading alone."""
    specification = {
        "reading": "r", "other_readings": "", "demands": "d", "left_open": "",
        "examples": "\n".join(map(str, CLAIMS)), "clarity": "clear",
    }  # fmt: skip
    screening = {"reason": "r", "verdict": "clear_match", "adapter": ADAPTER, "call": ""}
    program = claims_program(CLAIMS, ADAPTER, CODES[code].text)
    run = Execution(round=0, program=program, result=ExecutionResult(outcome="passed"))
    replies = {"specifier": specification, "screener": screening}
    return Annotation(
        query_id=QUERIES[query].query_id,
        code_id=CODES[code].code_id,
        recipe_id=recipe.recipe_id,
        status="labelled",
        label=label,
        decided_by="claims",
        path="claims_hold",
        support="valid_oracle" if label else "void_oracle",
        calls=tuple(
            LanguageModelCall(
                role=role, attempt=1, model="m", prompt_digest="d", status="ok",
                reply=json.dumps(reply),
            )
            for role, reply in replies.items()
            if is_specified or role == "screener"
        ),
        executions=(run,) if is_specified else (),
    )  # fmt: skip


@pytest.fixture
def sandbox() -> Iterator[ClaimSandbox]:
    made = ClaimSandbox()
    backends.register("claims")(lambda settings: made)
    with disable_run_logger():
        yield made
    backends._entries.pop("claims", None)


@pytest.fixture
def world(tmp_path: Path, sandbox: ClaimSandbox, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr("tasks.runtime.progress.Bar", QuietBar)
    return World(tmp_path, sandbox)


class QuietBar:
    """A bar that shows nothing."""

    def __init__(self, key: str, description: str) -> None:
        self.shown: list[float] = []

    def show(self, part: float, whole: float, description: str, *, at_end: bool = False) -> None:
        self.shown.append(part)


def test_codes_that_behave_alike_get_one_label_and_nothing_is_done_twice(world: World) -> None:
    world.judge(0, [1, 0])
    assert world.compare() == 0
    assert world.rows("SELECT agreed, label, outcomes, reason <> '' FROM code_behaviours "
                      "ORDER BY label") == [
        (1, 0, ["held"] * 3, True), (1, 1, ["held"] * 3, False)
    ]  # fmt: skip
    assert world.rows("SELECT consistency, claims FROM query_behaviours") == [
        (0.0, [str(claim) for claim in CLAIMS])
    ]
    assert world.rows("SELECT stage, items FROM stage_runs") == [("compare behaviours", 1)]
    boxes, runs = world.sandbox.made, world.sandbox.runs
    assert boxes == 1, "one box for all codes of a query"
    assert world.compare() == 0
    world.judge(1, [1, 1])
    assert world.compare() == 0
    assert (world.sandbox.made, world.sandbox.runs) == (2 * boxes, 2 * runs), "one more query"


def test_a_query_without_claims_is_not_asked_for_again(world: World) -> None:
    world.judge(0, [1, 0], is_specified=False)
    assert world.compare() == 0
    assert (world.sandbox.made, world.rows("FROM code_behaviours")) == (0, [])
    assert world.rows("SELECT items FROM stage_runs") == [(1,)]
    assert world.compare() == 0
    assert world.rows("SELECT items FROM stage_runs") == [(1,)]


def test_what_a_leaderboard_asked_for_is_compared_by_the_next_run_over_all_candidates(
    world: World,
) -> None:
    pool = SearchId("pool")
    candidates.record_search(world.database, pool, "c", ["bm25"], 10, pool=True)
    world.judge(0, [1, 0])
    of_pool = world.search.model_copy(update={"search_id": pool})
    assert compare_behaviours.fn(AnnotationRun(of_pool, world.recipe, world.settings)) == 0
    assert world.sandbox.made == 0
    assert world.compare() == 0
    assert world.sandbox.made == 1


def test_a_query_that_failed_is_tried_again_and_holds_up_no_other(world: World) -> None:
    for query in range(3):
        world.judge(query, [1, 1])
    world.sandbox.fails = [SandboxError("the box was lost")]
    assert world.compare() == 1
    assert len(world.rows("FROM query_behaviours")) == 2
    assert world.compare() == 0
    assert len(world.rows("FROM query_behaviours")) == 3
    assert world.rows("SELECT items FROM stage_runs ORDER BY items") == [(1,), (2,)]


def test_a_run_that_ends_early_has_stored_what_it_compared(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for query in range(3):
        world.judge(query, [1, 1])
    monkeypatch.setattr(behaviours, "_BATCH", 1)
    stored: list[int] = []

    def once(*given: Any) -> None:
        if stored:
            raise KeyboardInterrupt
        record_comparisons(*given)
        stored.append(1)

    with monkeypatch.context() as patch:
        patch.setattr(behaviours, "record_comparisons", once)
        with pytest.raises(KeyboardInterrupt):
            world.compare()
    assert len(world.rows("FROM query_behaviours")) == 1
    boxes = world.sandbox.made
    assert world.compare() == 0
    assert world.sandbox.made == boxes + 2
    assert len(world.rows("FROM query_behaviours")) == 3


def test_an_engine_that_is_gone_ends_the_stage_with_its_error(world: World) -> None:
    world.judge(0, [1, 1])
    world.sandbox.fails = [SandboxError("the box was lost")]
    world.sandbox.is_gone = True
    with pytest.raises(EngineUnavailableError):
        world.compare()
    world.sandbox.is_gone = False
    assert world.compare() == 0


def test_marks_of_codes_that_were_compared_by_other_claims_differ() -> None:
    annotated = annotation(RecipeReference(recipe_id="r", model="m"), 0, 0, 1, is_specified=True)
    due = DueComparison(QueryId(annotated.query_id), "d")

    def made(*claims: Claim, gave: str = "held") -> Any:
        code = Travelled(code_id=annotated.code_id, outcomes=(gave,), behaviour="b", label=1)
        found = QueryBehaviour(
            query_id=due.query_id, claims=claims, codes=(code,), consistency=None
        )
        [behaviour] = comparison_of(due, found, [annotated]).codes
        return behaviour

    assert made(CLAIMS[0]).behaviour == made(CLAIMS[0]).behaviour != made(CLAIMS[1]).behaviour
    assert made(CLAIMS[0]).recipe_id == "r"
    assert made(CLAIMS[0], gave="gave '\ud800'").outcomes == ("gave '\\ud800'",)
