"""The commands that watch and steer runs: status, controls, answers, and how a pair was judged."""

import sys
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from flows.cli.output import console, print_blocks, say
from flows.options import Approve, Decline, Limit, Resume, ShowPair, Status, Store
from flows.runtime.paused_deployments import how_to_lift, known_to_be_paused, resume_deployments
from flows.runtime.standing import Standing, standing_of
from flows.runtime.waiting_runs import answer_run
from infra.errors import StoreError
from infra.ids import PairKey, RecipeId
from infra.records import Annotation
from infra.settings import StoreSettings
from infra.store import Database, annotations, open_database, recipes
from infra.store.database import require_store
from infra.store.evidence import find_judged
from infra.store.runs import (
    Control,
    Holder,
    JudgingState,
    StageState,
    current_controls,
    last_changes,
    lease_holder,
    read_state,
    set_control,
)
from tasks.reports.judging import judgement_blocks
from tasks.reports.text import cost, duration, pace, rate, visible
from tasks.stages.specifications import specified_part

_DRAW_S = 1.0
_LOOK_S = 5.0  # at the database and the Prefect server
_LONGEST = 2_000
_SILENT_S = 60.0
_MOST_NAMED = 10

Line = tuple[str, str]


def show_status(options: Status) -> None:
    """Print how a store stands; in a terminal anew until Ctrl-C."""
    require_store(options.settings.store)
    standing = standing_of(options.settings)
    if options.once or not sys.stdout.isatty():
        for name, text in lines(standing):
            say(f"{name:<10} {text}")
        return
    try:
        with Live(_page(standing), console=console, auto_refresh=False) as live:
            looked = time.monotonic()
            while True:
                time.sleep(_DRAW_S)
                whole = time.monotonic() - looked >= _LOOK_S
                looked = time.monotonic() if whole else looked
                standing = standing_of(options.settings, None if whole else standing)
                live.update(_page(standing), refresh=True)
    except KeyboardInterrupt:
        return


def _page(standing: Standing) -> Table:
    page = Table.grid(padding=(0, 2))
    page.add_column(style="bold", no_wrap=True)
    page.add_column()
    for name, text in lines(standing):
        page.add_row(name, Text(visible(text, _LONGEST)))
        state = standing.stage
        if name == "stage" and state and state.total and _is_alive(standing):
            page.add_row("", ProgressBar(total=state.total, completed=state.done, width=60))
    return page


def lines(standing: Standing) -> Iterator[Line]:
    """Yield the name and the text of each line that there is something to say on."""
    yield "store", str(standing.folder)
    nothing = "nothing that writes labels" if _is_alive(standing) else "nothing"
    yield "runs", standing.holder or nothing
    if standing.stage:
        yield from _of_stage(standing.stage, is_alive=_is_alive(standing))
    if standing.controls:
        yield "controls", standing.controls
    for name, texts in (
        ("plan", standing.plans),
        ("audit", standing.audits),
    ):
        yield from ((name, text) for text in texts)
    for run in standing.waiting:
        yield "waits", f"{run} for approval: `cosqa approve`, or Resume in the Prefect UI"
    for name in standing.paused:
        yield "paused", f"{name}, which starts by hand alone: {how_to_lift(name)}"
    for due in standing.due:
        late = ", which no worker has begun yet" if due.starts_at <= datetime.now(UTC) else ""
        yield "due", f"{due.starts_at.astimezone():%Y-%m-%d %H:%M} {due.name}{late}"
    if standing.server:
        yield "server", standing.server


def _is_alive(standing: Standing) -> bool:
    """Return whether a run is at work: one that writes no labels shows it by its state alone."""
    state = standing.stage
    is_seen = state is not None and not state.is_ended and not _is_silent(state)
    return bool(standing.holder) or is_seen


def _is_silent(state: StageState) -> bool:
    return time.time() - state.updated_at.timestamp() > _SILENT_S


def _of_stage(state: StageState, *, is_alive: bool) -> Iterator[Line]:
    of = "" if state.total is None else f" of {state.total:,}"
    text = f"{state.stage}: {state.done:,}{of} {state.what}, {pace(state.per_minute)}"
    if is_alive and not state.is_ended and state.minutes_left is not None:
        text += f", about {duration(60 * state.minutes_left)} left"
    yield "stage", text + _ended(state, is_alive=is_alive)
    if state.error:
        yield "error", state.error
    if judging := state.judging:
        if judging.in_flight:
            yield from _of_pairs(judging)
        yield "cost", _cost(judging)


def _ended(state: StageState, *, is_alive: bool) -> str:
    at = f"{state.updated_at.astimezone():%Y-%m-%d %H:%M:%S}"
    if state.is_ended:
        return f" (ended {at})"
    if not is_alive:
        return f" (interrupted; last seen {at})"
    return f" (no sign since {at})" if _is_silent(state) else ""


def _of_pairs(state: JudgingState) -> Iterator[Line]:
    at_work = f"{state.held:,} of at most {state.in_flight:,} in flight, {state.waiting:,} queued"
    yield "pairs", f"{at_work}; {state.controls}" if state.controls else at_work
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


def _cost(state: JudgingState) -> str:
    own = f"{cost(state.spent_usd - state.spent_before_usd)} by this run"
    spent = f"{cost(state.spent_usd)} and {state.spent_tokens:,} tokens on {state.model} in all"
    budgets = [
        text
        for text, budget in (
            (f"budget {cost(state.budget_usd)}", state.budget_usd),
            (f"budget {state.budget_tokens or 0:,} tokens", state.budget_tokens),
        )
        if budget is not None
    ]
    return ", ".join([own, spent, *budgets])


def pause(options: Store) -> None:
    """Let no pairs be handed out."""
    change_controls(options.settings.store, {"paused": True})


def resume(options: Resume) -> None:
    """Let pairs be handed out again, or resume deployments; say of the others how they are."""
    if options.deployment:
        names = list(dict.fromkeys(options.deployment))
        resume_deployments(names)
        say(f"Resumed: {', '.join(names)}.")
        return
    change_controls(options.settings.store, {"paused": False})
    for name in known_to_be_paused():
        say(f"The deployment {name} stays paused: {how_to_lift(name)}.")


def limit(options: Limit) -> None:
    """Set the limits that are given; clear the others where that is asked."""
    given: dict[Control, float | None] = {
        "in_flight": options.in_flight,
        "requests_per_minute": options.requests_per_minute,
        "budget_usd": options.budget_usd,
    }
    kept = given if options.clear else {k: v for k, v in given.items() if v is not None}
    change_controls(options.settings.store, kept)


def change_controls(store: StoreSettings, changes: Mapping[Control, float | bool | None]) -> None:
    """Record changes of controls, and print which hold and for whom.

    Args:
        store: The store.
        changes: Control → value; None leaves it to the settings again.
    """
    require_store(store)
    database = open_database(store)
    for name, value in changes.items():
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


def approve(options: Approve) -> None:
    """Approve the plan of a run that waits, or a part of it."""
    limits = {"budget_usd": options.budget_usd, "pairs": options.pairs}
    given = {name: value for name, value in limits.items() if value is not None}
    run = answer_run(options.run, given, options.reason or None)
    say(f"{run} goes on as soon as a worker takes it.")


def decline(options: Decline) -> None:
    """Decline the plan of a run that waits."""
    run = answer_run(options.run, {}, ())
    say(f"{run} goes on without judging as soon as a worker takes it.")


def show_pair(options: ShowPair) -> None:
    """Print a pair's texts and, for each recipe that judged it, the label and how it came about.

    Raises:
        StoreError: No pair is named so, or several are.
    """
    require_store(options.settings.store)
    database = open_database(options.settings.store)
    judged = find_judged(database, options.query, options.code)
    key = _only_key([key for key, _ in judged], options)
    for pair in annotations.load_pairs(database, [key]):
        say(f"query {key.query_id}: {pair.query.text}\n\ncode {key.code_id}:\n{pair.code.text}")
    for _, recipe_id in judged:
        for annotation in annotations.load_annotations(database, recipe_id, [key]):
            say(_head(database, recipe_id, annotation))
            print_blocks(judgement_blocks(annotation, specified_part(annotation)))


def _only_key(keys: list[PairKey], options: ShowPair) -> PairKey:
    distinct = list(dict.fromkeys(keys))
    if len(distinct) == 1:
        return distinct[0]
    asked = f"query {options.query}, code {options.code}"
    if not distinct:
        raise StoreError(
            f"no judged pair is named so: {asked}; the artifact of slowest and failed "
            "pairs and the exported evidence have the ids"
        )
    named = "\n".join(f"  {key.query_id} {key.code_id}" for key in distinct[:_MOST_NAMED])
    raise StoreError(f"{len(distinct)} judged pairs are named so: {asked}\n{named}")


def _head(database: Database, recipe_id: RecipeId, annotation: Annotation) -> str:
    model = recipes.load_recipe(database, recipe_id).get("model", "an unknown model")
    label = "" if annotation.label is None else f" {annotation.label}"
    return (
        f"\n== {annotation.status}{label} by {model}, recipe {recipe_id}: {annotation.path}, "
        f"{annotation.support}, {annotation.seconds:.1f} s"
    )
