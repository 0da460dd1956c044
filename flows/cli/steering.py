"""What the commands that change controls, and those that answer a run that waits, do."""

from flows.cli.console import say
from flows.cli.steering_options import AnswerOptions, ControlOptions
from flows.runtime.waiting_runs import answer_run
from infra.store import open_database
from infra.store.controls import current_controls, last_changes, set_control
from infra.store.database import require_store
from infra.store.lease import lease_holder


def change_controls(options: ControlOptions) -> None:
    """Record changes of controls, and print which hold and for whom."""
    store = options.settings.store
    require_store(store)
    database = open_database(store)
    for name, value in options.changes.items():
        set_control(database, name, value)
    holder = lease_holder(store)
    told = f"{holder} obeys within seconds" if holder else "for the next run: nothing runs"
    controls = current_controls(database)
    if not str(controls):
        say(f"No control is set: the settings hold. ({told})" if holder else "No control is set.")
        return
    say(f"In force: {controls} ({told}).")
    for change in last_changes(database):
        if change.holds:
            say(f"  {change.control}: by {change.set_by}, {change.set_at:%Y-%m-%d %H:%M:%S}")


def answer(options: AnswerOptions) -> None:
    """Answer a run that waits for approval."""
    run = answer_run(options.run, options.answer, options.reasons)
    word = "goes on without judging" if options.reasons == () else "goes on"
    say(f"{run} {word} as soon as a worker takes it.")
