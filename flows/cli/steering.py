"""What the commands that change controls, and those that answer a run that waits, do."""

from datetime import datetime

from flows.cli.console import say
from flows.cli.steering_options import AnswerOptions, ControlOptions, ResumeOptions
from flows.runtime.paused_deployments import how_to_lift, known_to_be_paused, resume_deployments
from flows.runtime.waiting_runs import answer_run
from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.controls import current_controls, last_changes, set_control
from infra.store.database import require_store
from infra.store.lease import Holder, lease_holder
from infra.store.stage_state import JudgingState, read_state


def change_controls(options: ControlOptions) -> None:
    """Record changes of controls, and print which hold and for whom."""
    store = options.settings.store
    require_store(store)
    database = open_database(store)
    for name, value in options.changes.items():
        set_control(database, name, value)
    holder = lease_holder(store)
    told = _who_obeys(holder, store)
    controls = current_controls(database)
    if not str(controls):
        say(f"No control is set: the settings hold. ({told})" if holder else "No control is set.")
        return
    say(f"In force: {controls} ({told}).")
    for change in last_changes(database):
        if change.holds:
            say(f"  {change.control}: by {change.set_by}, {change.set_at:%Y-%m-%d %H:%M:%S}")


def resume(options: ResumeOptions) -> None:
    """Let pairs be handed out again, or resume deployments; say of the others how they are."""
    if options.deployments:
        resume_deployments(options.deployments)
        say(f"Resumed: {', '.join(options.deployments)}.")
        return
    change_controls(options.controls)
    for name in known_to_be_paused():
        say(f"The deployment {name} stays paused: {how_to_lift(name)}.")


def _who_obeys(holder: Holder | None, store: StoreSettings) -> str:
    """Return whether the run that writes into a store obeys, and when, in words."""
    if not holder:
        return "for the next run: none writes labels"
    judging = _judging(holder, store)
    if not judging:
        return f"{holder} judges no pairs now: annotation obeys while it judges, other runs do not"
    return f"{holder} obeys " + ("within seconds" if judging.in_flight else "with its next batches")


def _judging(holder: Holder, store: StoreSettings) -> JudgingState | None:
    """Return how the holder's run judges; None where it does something else, or has just begun."""
    state = read_state(store)
    if state is None or state.is_ended or not holder.since:
        return None
    is_its_own = state.updated_at >= datetime.fromisoformat(holder.since)
    return state.judging if is_its_own else None


def answer(options: AnswerOptions) -> None:
    """Answer a run that waits for approval."""
    run = answer_run(options.run, options.answer, options.reasons)
    word = "goes on without judging" if options.reasons == () else "goes on"
    say(f"{run} {word} as soon as a worker takes it.")
