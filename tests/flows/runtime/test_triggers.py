"""Laws of the automations: what a chain hands on, and whose runs are ended."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from prefect.server.utilities.user_templates import render_user_template_sync

from flows.deployments import DEPLOYMENTS, deployment_named
from flows.runtime.triggers import chain_of, housekeeping


def handed_on(name: str, answers: dict[str, Any]) -> dict[str, Any]:
    """Return what a deployment is started with, after a run with these answers."""
    template: Any = getattr(chain_of(deployment_named(name)), "parameters")  # noqa: B009
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
    assert handed_on("annotate", answers | own) == answers


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
