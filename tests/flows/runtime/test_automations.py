"""Laws of the automations: whose runs are ended."""

from flows.deployments import DEPLOYMENTS
from flows.runtime.automations import housekeeping


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


def test_one_event_that_is_lost_makes_no_running_run_a_crashed_one() -> None:
    _, pending, _ = (each.trigger for each in housekeeping())
    expected: set[str] = pending.expect  # type: ignore[union-attr]
    assert {"prefect.flow-run.Running", "prefect.flow-run.heartbeat"} <= expected
