"""The status command: what runs on a store, and how far it is."""

import sys
import time
from collections.abc import Iterator

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from flows.cli.output import console, say
from flows.options import Status
from flows.runtime.standing import Standing, standing_of
from infra.store.database import require_store
from infra.store.runs import JudgingState, StageState
from tasks.reports.text import cost, duration, pace, rate, visible

_DRAW_S = 1.0
_LOOK_S = 5.0  # at the database
_LONGEST = 2_000
_SILENT_S = 60.0

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
    yield from (("plan", text) for text in standing.plans)
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
    held = f"{state.held:,} of at most {state.in_flight:,} in flight"
    yield "pairs", f"{held}, {state.waiting:,} queued"
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
