"""Annotation by the provider's batch API: passes over the pending pairs, and batches between them.

A pass judges every pair as far as the kept replies go, and collects the requests that lack one.
Then all of them are answered by batches, and the next pass goes one step further.
"""

import asyncio
from contextlib import suppress

import pyarrow as pa
from prefect.logging import get_run_logger

from agents.llm.batch.requests import BatchRequests
from agents.llm.batch.runner import BatchRunner
from agents.llm.rate_limit import SharedLimiter
from infra.errors import BudgetExhaustedError
from infra.journal import Journal
from infra.settings import Settings
from infra.store import open_database
from infra.store.pending import unfinished, write_unfinished
from infra.store.runs import JudgingState
from tasks.runtime.caching import BATCHES_AWAY, stage
from tasks.runtime.progress import Progress, progress
from tasks.runtime.run_events import artifact_key
from tasks.stages.annotate.plan import AnnotationPlan, in_round
from tasks.stages.annotate.run_watch import Spending, tell_of_budget


def forget_collected(settings: Settings) -> None:
    """Forget the requests that an earlier run collected but did not submit."""
    _requests(settings).forget_waiting()


def _requests(settings: Settings) -> BatchRequests:
    return BatchRequests(SharedLimiter(Journal(settings.store.journal), settings.llm))


@stage(
    "answer-by-batch",
    "answer by batches what {plan.recipe.model} is asked of {plan.collection}",
    retries=BATCHES_AWAY,
)
def answer_by_batch(plan: AnnotationPlan, settings: Settings) -> AnnotationPlan | None:
    """Answer the requests of a pass by batches; return the next pass, None after the last one.

    Args:
        plan: The pass.
        settings: The model, its budget and how often batches in flight are looked at.

    Raises:
        ModelRefusedError: The provider takes no batches, refuses one, or one was cancelled.
        ModelUnavailableError: The provider does not answer; a later run finds its batches.
        BudgetExhaustedError: The budget is spent, or a reply cannot be kept.
    """
    requests = _requests(settings)
    waiting = requests.roles_waiting()
    number = sum(waiting.values()) + sum(batch.requests for batch in requests.sent())
    if not number:
        requests.clear()
        return None
    of_roles = ", ".join(f"{role} {count:,}" for role, count in waiting.items())
    step = of_roles or "of an earlier run"
    get_run_logger().info("%s requests are to be answered by batches: %s", f"{number:,}", step)
    key = artifact_key("batches", plan.collection)
    with progress(key, f"requests answered by batches ({step})", number) as bar:
        report = _Report(bar, step, plan, settings)
        journal = Journal(settings.store.journal)
        runner = BatchRunner(settings.llm, settings.annotation, journal, report, plan.budget)
        try:
            asyncio.run(runner.answer_all())
        except BudgetExhaustedError as error:
            tell_of_budget(plan, error, Spending(settings, plan.budget))
            raise
        finally:
            report.look()
    next_pass = _next_pass(plan, settings)
    if next_pass.pairs:
        return next_pass
    requests.clear()
    return None


def _next_pass(plan: AnnotationPlan, settings: Settings) -> AnnotationPlan:
    """Return the plan of what is left of a pass: it adds no canaries.

    A pair that has failed in this run is not: each pass would count as one more of its tries.
    """
    database = open_database(settings.store)
    recipe_id, since = plan.recipe.recipe_id, plan.planned_at
    pending = write_unfinished(database, recipe_id, plan.pairs_file, since)
    known = [canary.key for canary in plan.canaries]
    columns = {name: [getattr(key, name) for key in known] for name in ("query_id", "code_id")}
    keys = pa.table(columns, schema=pa.schema([(name, pa.string()) for name in columns]))
    waiting = {
        tuple(row.values()) for row in unfinished(database, recipe_id, keys, since).to_pylist()
    }
    left = tuple(canary for canary in plan.canaries if canary.key in waiting)
    get_run_logger().info(
        "%s pairs are left to judge%s", f"{pending:,}", in_round(plan.recipe, settings)
    )
    return plan.model_copy(update={"pending": pending, "canaries": left})


class _Report:
    """Writes the state of batches to the progress bar, and to the log where it has changed."""

    def __init__(self, bar: Progress, step: str, plan: AnnotationPlan, settings: Settings) -> None:
        self._bar = bar
        self._step = step
        self._plan = plan
        self._last = (0, "")
        self._spending = Spending(settings, plan.budget)
        self.look()
        bar.write_state()

    def look(self) -> None:
        """Show what is spent."""
        with suppress(BudgetExhaustedError):  # the journal cannot be read: then as last looked at
            self._spending.look()
            collection, model = self._plan.collection, self._plan.recipe.model
            state = JudgingState(collection=collection, model=model)
            self._bar.judging = self._spending.shown_in(state)

    def __call__(self, done: int, total: int, states: str) -> None:
        self.look()
        self._bar.advance(max(0, done - self._bar.done))
        if (done, states) != self._last:
            self._last = done, states
            get_run_logger().info(
                "step %s: %s of %s requests done%s", self._step, f"{done:,}", f"{total:,}",
                f" ({states})" if states else "",
            )  # fmt: skip
