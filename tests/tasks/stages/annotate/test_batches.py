"""Laws of the stage that answers a pass by batches: it obeys what people change meanwhile."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from infra.errors import BudgetExhaustedError
from infra.store import open_database
from infra.store.controls import set_control
from tasks.runtime import progress, run_events
from tasks.stages.annotate import batches
from tasks.stages.annotate.batches import answer_by_batch
from tests.agents.judging import made_up_sandbox, script
from tests.agents.llm.batch.batching import batch_settings, one_pass
from tests.fakes.llm_server import ScriptedServer

PAIRS = 3


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(list(script(PAIRS, delay_s=0.0))) as server:
        yield server


def test_a_budget_that_was_set_by_hand_bounds_batches_and_its_end_is_told(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = batch_settings(server.base_url, tmp_path, model="openai/gpt-4o-mini")
    asyncio.run(one_pass(settings, PAIRS, made_up_sandbox()))
    set_control(open_database(settings.store), "budget_usd", 1e-9, "somebody")
    told: list[tuple[Any, ...]] = []
    monkeypatch.setattr(run_events, "emit_event", lambda *given, **_: told.append(given))
    monkeypatch.setattr(batches, "get_run_logger", lambda: logging.getLogger("run"))
    monkeypatch.setattr(progress, "get_run_logger", lambda: logging.getLogger("run"))
    for name in ("create_progress_artifact", "update_progress_artifact"):
        monkeypatch.setattr(progress, name, lambda *_, **__: uuid4())
    plan: Any = SimpleNamespace(
        reference=SimpleNamespace(collection="c"), recipe=SimpleNamespace(model="m")
    )
    with pytest.raises(BudgetExhaustedError, match="cosqa limit --budget-usd"):
        answer_by_batch.fn(plan, settings)
    assert server.calls == []
    assert told == [(run_events.BUDGET_EXHAUSTED,)]
