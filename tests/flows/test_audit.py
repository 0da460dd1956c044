"""Laws of audits: they ask before they pay, as annotation does, and judge what their plan says.

Covers `flows.audit`.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prefect import flow
from prefect.logging import disable_run_logger
from prefect.states import Completed

from flows import annotate, audit
from flows.audit import audit_as_approved
from infra.budget import Budget
from infra.errors import SettingsError
from infra.settings import (
    LanguageModelSettings,
    OperationSettings,
    ReannotationSettings,
    Settings,
    StoreSettings,
)
from infra.store.runs import last_plans
from tasks.runtime.references import JudgedPairs
from tasks.stages.annotate import rounds
from tasks.stages.annotate.audit import plan_audit
from tasks.stages.annotate.pending import Taken
from tasks.stages.annotate.rounds import AnnotationRun
from tasks.stages.annotate.run_plan import planned_run
from tests.fakes.journals import limiter_of
from tests.tasks.stages.annotate.test_audit import PAIRS, Fickle, World


@pytest.mark.exhaustive
@pytest.mark.usefixtures("prefect_server")
def test_an_audit_asks_a_person_before_it_pays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with Fickle() as model:
        world = World(tmp_path, model)
        operation = OperationSettings(approve=True)
        settings = world.settings.model_copy(update={"operation": operation})

        @flow
        def audits() -> None:
            audit_as_approved(world.run.by(settings))

        with pytest.raises(SettingsError, match="only a deployment's run can wait"):
            audits()
        assert len(model.calls) == PAIRS, "those of the labels themselves"
    (plan,) = last_plans(world.database)
    assert [item["reason"] for item in plan.body["reasons"] if item["taken"]] == ["audit"]  # type: ignore[attr-defined]


def test_an_audit_by_itself_has_a_number_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[int] = []
    sampled: list[int] = []
    with Fickle() as model:
        world = World(tmp_path, model)

    monkeypatch.setattr(
        audit, "plan_run", lambda run, **_: Completed(data=planned_run(world.database, run))
    )
    monkeypatch.setattr(audit, "show_plan", lambda plan: shown.append(plan.taken))

    def sample(*given: Any, after: object) -> tuple[None, object]:
        sampled.append(plan_audit.fn(given[0], *given[2:]).pending)
        return None, after

    monkeypatch.setattr(audit, "audit_labels", sample)
    policy = world.settings.reannotation.model_copy(update={"pairs": 3})
    settings = world.settings.model_copy(update={"reannotation": policy})
    with disable_run_logger():
        audit_as_approved(world.run.by(settings))
    assert (shown, sampled) == ([8], [8])


def test_an_audit_gets_what_a_run_leaves_after_pairs_as_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = ReannotationSettings(take=("new_queries", "audit"), pairs=100)
    settings = Settings(store=StoreSettings(folder=tmp_path), reannotation=policy)
    recipe: Any = SimpleNamespace(settings=lambda settings: settings, place=1)
    plan: Any = SimpleNamespace(pending=40, reasons=(Taken("new_queries", 60),))
    plan.model_copy = lambda **_: plan
    left: list[int] = []
    instead: dict[str, object] = {
        "plan_run": Completed(data="plan"), "run_budget": Budget(),
        "plan_annotation": Completed(data=plan), "show_plan": None,
        "judge_plan": (JudgedPairs(), []),
    }  # fmt: skip
    for name, value in instead.items():
        monkeypatch.setattr(annotate, name, lambda *_, value=value, **__: value)

    def audited(run: AnnotationRun, _: Budget, judged: int, after: object) -> Any:
        left.append(run.settings.reannotation.audited(1_000, judged))
        return None, after

    monkeypatch.setattr(annotate, "audit_labels", audited)
    monkeypatch.setattr(rounds, "rounds_of", lambda *_: [recipe])
    annotate.judge_candidates(AnnotationRun(recipe, recipe, settings))
    assert left == [40]


@pytest.mark.parametrize("of", [annotate, audit])
def test_what_the_run_spends_that_another_waits_for_is_not_of_the_others_budget(
    of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = ReannotationSettings(take=("audit",), budget_usd=2.0)
    llm = LanguageModelSettings(model="openai/m")
    settings = Settings(store=StoreSettings(folder=tmp_path), llm=llm, reannotation=policy)
    recipe: Any = SimpleNamespace(settings=lambda settings: settings, place=1)
    ends: list[float | None] = []

    @contextmanager
    def waiting(store: StoreSettings) -> Iterator[None]:
        ledger = limiter_of(store, llm)
        ledger.settle(ledger.reserve(100, 5.0).result(), 100, 5.0).result()
        yield

    instead: dict[str, object] = {
        "plan_run": Completed(data="plan"), "show_plan": None,
    }  # fmt: skip
    for name, value in instead.items():
        monkeypatch.setattr(of, name, lambda *_, value=value, **__: value, raising=False)
    monkeypatch.setattr(of, "writing", waiting)

    def audited(_: AnnotationRun, budget: Budget, *__: object, **___: object) -> Any:
        ends.append(budget.before_usd + (budget.limit_usd or 0.0))
        return None, []

    monkeypatch.setattr(of, "audit_labels", audited)
    monkeypatch.setattr(rounds, "rounds_of", lambda *_: [])
    judge = audit_as_approved if of is audit else annotate.judge_candidates
    judge(AnnotationRun(recipe, recipe, settings))
    assert ends == [5.0 + 2.0]
