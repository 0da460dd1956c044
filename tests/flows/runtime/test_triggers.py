"""Laws of the automations: what a chain hands on, and whose runs are ended."""

import json
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect.server.utilities.user_templates import render_user_template_sync

from flows.deployments import DEPLOYMENTS, deployment_named
from flows.runtime.triggers import NAME_PREFIX, chains, housekeeping

IDS = {deployment.name: uuid4() for deployment in DEPLOYMENTS}


def handed_on(name: str, answers: dict[str, Any]) -> dict[str, Any]:
    """Return what a chain starts a deployment with, after a run with these answers."""
    (chain,) = (each for each in chains(IDS, DEPLOYMENTS) if each.name == f"{NAME_PREFIX}{name}")
    template: Any = getattr(chain.actions[0], "parameters")  # noqa: B009 - of one kind of action
    run = SimpleNamespace(parameters=answers)
    text = render_user_template_sync(template["value"]["template"], {"flow_run": run})
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"source": "jsonl", "path": 'a "quoted" {{ path }}', "top_k": 5, "encoders": ["minilm"]},
        {"codes": ["cosqa=x", "staqc=y"], "preset": None},
    ],
)
def test_a_chain_hands_on_the_answers_that_both_forms_ask_for(answers: dict[str, Any]) -> None:
    own = {"reread": True}
    assert handed_on("annotate after collect", answers | own) == answers


def test_a_chain_follows_completed_runs_of_one_deployment() -> None:
    for chain in chains(IDS, DEPLOYMENTS):
        after = chain.name.rpartition(" after ")[2]
        trigger: Any = chain.trigger
        assert trigger.expect == {"prefect.flow-run.Completed"}
        assert str(IDS[after]) in str(trigger.match_related)


def test_a_run_that_waits_for_a_person_is_not_taken_for_a_dead_one() -> None:
    silent, pending, late = (each.trigger for each in housekeeping())
    for trigger in (silent, pending, late):
        expected: set[str] = trigger.expect  # type: ignore[union-attr]
        assert "prefect.flow-run.Suspended" in expected


def test_only_runs_of_this_program_are_ended() -> None:
    for automation in housekeeping():
        named = str(getattr(automation.trigger, "match_related"))  # noqa: B009
        assert "annotate-pairs" in named
        assert all(deployment.name in named for deployment in DEPLOYMENTS)


def test_names_of_ids_are_those_of_deployments() -> None:
    assert isinstance(IDS[deployment_named("annotate").after], UUID)
