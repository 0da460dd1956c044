"""``cosqa status``: what a store has, what runs on it and what is planned."""

import time
from collections.abc import Iterator

from flows.cli.output import say
from flows.options import Store
from infra.errors import StoreLockedError
from infra.settings import StoreSettings
from infra.store import open_database
from infra.store.database import require_store
from infra.store.figures import stored_counts
from infra.store.runs import JudgingState, StageState, last_plan, lease_holder, read_state
from tasks.reports.plan import RunPlan, plan_sentence
from tasks.reports.text import cost, duration, pace, rate

_PATIENCE_S = 1.0
_SILENT_S = 60.0

Line = tuple[str, str]


def show_status(options: Store) -> None:
    """Print how a store stands, without waiting for what another process holds.

    Raises:
        StoreError: There is no store.
    """
    store = options.settings.store
    require_store(store)
    for name, text in (*_stored(store), *_at_work(store)):
        say(f"{name:<10} {text}")


def _stored(store: StoreSettings) -> Iterator[Line]:
    yield "store", str(store.folder)
    try:
        database = open_database(store.model_copy(update={"lock_timeout_s": _PATIENCE_S}))
        counts = stored_counts(database)
        plan = last_plan(database)
    except StoreLockedError:
        yield "stored", "unknown: another process has the database open"
        return
    yield "stored", ", ".join(f"{number:,} {name}" for name, number in counts.items())
    if plan:
        sentence = plan_sentence(RunPlan.model_validate(plan.body))
        yield "plan", f"{plan.planned_at.astimezone():%Y-%m-%d %H:%M} {sentence}"


def _at_work(store: StoreSettings) -> Iterator[Line]:
    holder, state = lease_holder(store), read_state(store)
    yield "writes", str(holder or "nothing")
    if not state:
        return
    yield "stage", _stage(state)
    if state.error:
        yield "error", state.error
    if state.judging:
        yield from _judging(state.judging)


def _stage(state: StageState) -> str:
    of = "" if state.total is None else f" of {state.total:,}"
    done = f"{state.stage}: {state.done:,}{of} {state.what}, {pace(state.per_minute)}"
    at = f"{state.updated_at.astimezone():%Y-%m-%d %H:%M:%S}"
    if state.is_ended:
        return f"{done} (ended {at})"
    if time.time() - state.updated_at.timestamp() > _SILENT_S:
        return f"{done} (no sign since {at})"
    left = "" if state.minutes_left is None else f", about {duration(60 * state.minutes_left)} left"
    return done + left


def _judging(state: JudgingState) -> Iterator[Line]:
    yield (
        "pairs",
        f"{state.held:,} of at most {state.in_flight:,} in flight, {state.waiting:,} queued",
    )
    endings = [f"{number:,} labelled {label}" for label, number in sorted(state.labels.items())]
    others = sorted(state.statuses.items())
    endings += [f"{number:,} {status}" for status, number in others if status != "labelled"]
    yield "labels", ", ".join(endings) or "none yet"
    counts = state.canaries
    if counts.judged:
        wrong = f"{counts.false_passes} false passes, {counts.false_fails} false fails"
        if counts.obeyed:
            wrong += f"; {counts.obeyed} of {counts.injected} obeyed what the code told them"
        yield "canaries", f"{rate(counts.wrong, counts.judged)} judged wrongly: {wrong}"
    spent = f"{cost(state.spent_usd)} and {state.spent_tokens:,} tokens on {state.model} in all"
    spendings = [f"{cost(state.spent_usd - state.spent_before_usd)} by this run", spent]
    if state.budget_usd is not None:
        spendings.append(f"budget {cost(state.budget_usd)}")
    if state.budget_tokens is not None:
        spendings.append(f"budget {state.budget_tokens:,} tokens")
    yield "cost", ", ".join(spendings)
