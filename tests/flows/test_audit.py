"""The law of audits: they ask before they pay, as annotation does.

Covers `flows.audit`.
"""

import io
from pathlib import Path

import pytest
from prefect import flow

from flows.audit import audit_as_agreed
from infra.errors import SettingsError
from infra.settings import OperationSettings
from infra.store.plans import last_plans
from tasks.stages.preflight import Ready
from tests.tasks.stages.annotate.test_audit import PAIRS, Fickle, World


@pytest.mark.exhaustive
@pytest.mark.usefixtures("prefect_server")
def test_an_audit_asks_a_person_before_it_pays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with Fickle() as model:
        world = World(tmp_path, model)
        operation = OperationSettings(approval="always")
        settings = world.settings.model_copy(update={"operation": operation})

        @flow
        def audits() -> None:
            audit_as_agreed(Ready(settings, world.database), world.search, world.recipe)

        with pytest.raises(SettingsError, match="no terminal to ask in"):
            audits()
        assert len(model.calls) == PAIRS, "those of the labels themselves"
    (plan,) = last_plans(world.database)
    assert [item["reason"] for item in plan.body["reasons"] if item["taken"]] == ["audit"]  # type: ignore[attr-defined]
