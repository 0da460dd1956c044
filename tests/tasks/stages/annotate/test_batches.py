"""Laws of the stage that answers a pass by batches: it obeys what people change meanwhile."""

import asyncio
import logging
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from flows.cli.status import lines
from flows.runtime.standing import Standing
from infra.budget import run_budget
from infra.ids import CodeId, PairKey, QueryId, RecipeId
from infra.records import Annotation
from infra.settings import Settings, StoreSettings
from infra.store import open_database
from infra.store.annotations import add_annotations
from infra.store.pending import new_keys_file, write_keys
from infra.store.runs import StageState
from tasks.runtime import progress
from tasks.runtime.references import RecipeReference
from tasks.stages.annotate import batches
from tasks.stages.annotate.batches import _next_pass, answer_by_batch
from tasks.stages.annotate.canaries import KnownLabel
from tasks.stages.annotate.plan import AnnotationPlan
from tests.agents.judging import made_up_sandbox, script
from tests.agents.llm.batch.batching import batch_settings, one_pass
from tests.fakes.journals import limiter_of
from tests.fakes.llm_server import ScriptedServer

PAIRS = 3


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(list(script(PAIRS, delay_s=0.0))) as server:
        yield server


def test_what_batches_cost_is_shown_as_the_cost_of_the_run_that_they_are_of(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = batch_settings(server.base_url, tmp_path, model="openai/gpt-4o-mini")
    asyncio.run(one_pass(settings, PAIRS, made_up_sandbox()))
    ledger = limiter_of(settings.store, settings.llm)
    ledger.settle(ledger.reserve(100, 3.0).result(), 100, 3.0).result()
    budget = run_budget(settings)
    ledger.settle(
        ledger.reserve(100, 0.5).result(), 100, 0.5
    ).result()  # by an earlier pass of the run
    shown: list[StageState] = []
    monkeypatch.setattr(progress, "write_state", lambda _, state: shown.append(state))
    monkeypatch.setattr(progress, "_store", ContextVar("here", default=settings.store))
    monkeypatch.setattr(batches, "get_run_logger", lambda: logging.getLogger("run"))
    monkeypatch.setattr(progress, "get_run_logger", lambda: logging.getLogger("run"))
    monkeypatch.setattr(batches, "_next_pass", lambda plan, _: plan)
    for name in ("create_progress_artifact", "update_progress_artifact"):
        monkeypatch.setattr(progress, name, lambda *_, **__: uuid4())
    plan: Any = SimpleNamespace(
        collection="c", recipe=SimpleNamespace(model="m"), pairs=1, budget=budget
    )
    answer_by_batch.fn(plan, settings)
    costs = [
        (state.judging.spent_before_usd, state.judging.spent_usd)
        for state in shown[1:]
        if state.judging
    ]
    assert {before for before, _ in costs} == {3.0}
    assert costs[0][1] == 3.5, "from the first moment"
    assert costs[-1][1] == ledger.spent()[1] > 3.5, "and with the last batch"
    said = dict(lines(Standing(folder=tmp_path, holder="h", stage=shown[-1])))
    assert said["cost"].startswith("$0.5")
    assert "labels" not in said, "no judge is at work"


def test_a_later_pass_leaves_out_what_was_finished_or_has_failed_in_this_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, recipe = StoreSettings(folder=tmp_path), RecipeId("r")
    database = open_database(store)
    keys = [PairKey(QueryId(f"q{number}"), CodeId("c")) for number in range(4)]
    add_annotations(database, [annotation(keys[0], "failed"), annotation(keys[3], "failed")])
    columns = {"query_id": [key.query_id for key in keys], "code_id": ["c"] * len(keys)}
    file = new_keys_file(tmp_path, "r")
    write_keys(pa.table(columns), file)
    plan = AnnotationPlan(
        collection="c",
        recipe=RecipeReference(recipe_id=recipe, model="m"),
        pairs_file=file,
        pending=4,
        canaries=tuple(KnownLabel(key=key, label=0) for key in keys),
    )
    add_annotations(database, [annotation(keys[1]), annotation(keys[3], "failed")])
    monkeypatch.setattr(batches, "get_run_logger", lambda: logging.getLogger("run"))
    left = _next_pass(plan, Settings(store=store))
    assert left.pending == 2, "the one that failed before, and the one that waits"
    assert [canary.key for canary in left.canaries] == [keys[0], keys[2]]
    assert _next_pass(left, Settings(store=store)).pending == 2


def annotation(key: PairKey, status: str = "labelled") -> Annotation:
    label = 1 if status == "labelled" else None
    return Annotation.model_validate(
        {**key._asdict(), "recipe_id": "r", "status": status, "label": label, "path": "read_alone"}
    )
