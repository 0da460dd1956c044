"""What people see of a run of judges: its state, its artifacts, its events."""

import heapq
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from prefect.artifacts import create_markdown_artifact
from prefect.logging import get_run_logger

from agents.llm.rate_limit import SharedLimiter
from infra.errors import (
    BudgetExhaustedError,
    CanaryError,
    RunBudgetExhaustedError,
    UnrecordableError,
)
from infra.journal import Journal
from infra.records import Annotation
from infra.settings import LanguageModelSettings, Settings
from infra.store.runs import JudgingState
from tasks.reports.judging import JudgedPair, JudgedRun, funnel_document, pairs_document
from tasks.reports.render import markdown_page
from tasks.reports.text import cost
from tasks.runtime import run_events
from tasks.runtime.progress import Bar, Progress
from tasks.runtime.references import JudgedPairs
from tasks.runtime.run_events import artifact_key
from tasks.stages.annotate.canaries import CanaryWatch
from tasks.stages.annotate.plan import AnnotationPlan
from tasks.stages.annotate.steering import Steering

_LOOK_S = 2.0
_SHOW_S = 10.0
_SHOWN_PAIRS = 20


class Spending:
    """What a model's key has cost, of which the budget says how much it may.

    What it had cost before is that of the run's beginning, whatever pass or round of it this is.

    Args:
        settings: The store and the model.
    """

    def __init__(self, settings: Settings) -> None:
        self._limiter = SharedLimiter(Journal(settings.store.journal), settings.llm)
        self.tokens, self.usd = self._limiter.spent()
        self.before_tokens, self.before_usd = settings.llm.before or (self.tokens, self.usd)

    def look(self, budget_usd: float | None) -> LanguageModelSettings:
        """Read what is spent; return the model's settings with the budget in force."""
        self._limiter.limit(None, budget_usd)
        self.tokens, self.usd = self._limiter.spent()
        return self._limiter.settings

    def shown_in(self, state: JudgingState, llm: LanguageModelSettings) -> JudgingState:
        """Return a state with what is spent, and with the budget in force."""
        figures = {
            "spent_usd": self.usd,
            "spent_tokens": self.tokens,
            "spent_before_usd": self.before_usd,
            "budget_usd": llm.budget_usd,
            "budget_tokens": llm.budget_tokens,
        }
        return state.model_copy(update=figures)


def tell_of_budget(plan: AnnotationPlan, error: BudgetExhaustedError, spending: Spending) -> None:
    """Tell that a budget is spent: that of the run alone, or that of all.

    Where spending or replies cannot be kept none is, and the deployment is not to be paused.
    """
    if isinstance(error, UnrecordableError):
        return
    is_of_run = isinstance(error, RunBudgetExhaustedError)
    tell = run_events.run_budget_exhausted if is_of_run else run_events.budget_exhausted
    figures = {"usd": spending.usd, "tokens": spending.tokens}
    tell(plan.collection, str(error), {"model": plan.recipe.model, **figures})


class RunWatch:
    """Counts what a run stores, and shows it while the run goes on and at its end.

    Args:
        plan: What the run is to judge.
        settings: The model, its budget and the store.
        bar: The progress bar.
        canaries: The watch over the canaries.
        steering: The controls.
    """

    def __init__(
        self,
        plan: AnnotationPlan,
        settings: Settings,
        bar: Progress,
        canaries: CanaryWatch,
        steering: Steering,
    ) -> None:
        self._plan = plan
        self._bar = bar
        self._canaries = canaries
        self._steering = steering
        self._spending = Spending(settings)
        self._budget_bar: Bar | None = None
        self._endings: Counter[tuple[str, str, int | None]] = Counter()
        self._slowest: list[tuple[float, int, JudgedPair]] = []
        self._failed: list[JudgedPair] = []
        self._look_at = self._show_at = time.monotonic()

    @property
    def alarm(self) -> CanaryError | None:
        """The error that ends the run, or None."""
        return self._canaries.alarm

    def begin(self) -> None:
        """Obey the controls that were set before, as `Steering.begin`."""
        self._steering.begin()

    def add(self, arrived: Sequence[Annotation]) -> None:
        """Count annotations; canaries, which are no labels, only where they failed."""
        for item in self._canaries.add(arrived):
            self._endings[item.status, str(item.path), item.label] += 1
            pair = JudgedPair.of(item)
            heapq.heappush(self._slowest, (item.seconds, self._endings.total(), pair))
            if len(self._slowest) > _SHOWN_PAIRS:
                heapq.heappop(self._slowest)
            if item.status == "failed" and len(self._failed) < _SHOWN_PAIRS:
                self._failed.append(pair)
        self._bar.advance(len(arrived))

    def turn(self, waiting: int, judging: int) -> None:
        """Obey the controls, and show how the run stands, where it is time to.

        Args:
            waiting: Pairs read from the store that no judge has started on.
            judging: Pairs that judges are at work on.
        """
        self._steering.turn()
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK_S
            self._look(waiting, judging)
            self._bar.advance(0)

    def _look(self, waiting: int, judging: int) -> None:
        state = self._bar.judging = self._state(waiting, judging)
        failed = state.statuses.get("failed", 0)
        notes = [f"{failed:,} of them failed" if failed else "", state.controls]
        self._bar.note = ", ".join(filter(None, notes))

    def _state(self, waiting: int, judging: int) -> JudgingState:
        statuses: Counter[str] = Counter()
        labels: Counter[int] = Counter()
        for (status, _, label), number in self._endings.items():
            statuses[status] += number
            if label is not None:
                labels[label] += number
        llm = self._spending.look(self._steering.controls.budget_usd)
        self._show_budget(llm, at_end=False)
        state = JudgingState(
            collection=self._plan.collection,
            model=self._plan.recipe.model,
            waiting=waiting,
            held=judging,
            in_flight=self._steering.in_flight,
            statuses=statuses,
            labels=labels,
            canaries=self._canaries.counts,
            controls=str(self._steering.controls),
        )
        return self._spending.shown_in(state, llm)

    def _show_budget(self, llm: LanguageModelSettings, *, at_end: bool) -> None:
        """Show the cost against the budget as a bar, where there is a budget."""
        usd, tokens = self._spending.usd, self._spending.tokens
        if llm.budget_usd is not None:
            part, whole = usd, llm.budget_usd
            words = f"{cost(part)} of {cost(whole)}"
        elif llm.budget_tokens is not None:
            part, whole = tokens, llm.budget_tokens
            words = f"{tokens:,} of {whole:,} tokens"
        else:
            return
        if time.monotonic() < self._show_at and not at_end:
            return
        self._show_at = time.monotonic() + _SHOW_S
        description = f"{words} are spent on {llm.model}"
        if self._budget_bar is None:
            key = artifact_key("budget", self._plan.collection)
            self._budget_bar = Bar(key, description)
        self._budget_bar.show(part, whole, description, at_end=at_end)

    def close(self, error: Exception | None) -> None:
        """Make the artifacts of the run, and tell of alarms; called once, at its end.

        A server that takes no artifacts ends no run, and what cannot be shown hides no error.

        Args:
            error: What ended the run early.
        """
        with suppress(BudgetExhaustedError):  # the journal cannot be read: then as last looked at
            self._look(0, 0)
        collection = self._plan.collection
        self._tell(collection, error)
        run = self._judged_run()
        if (judged := self.judged_pairs()).failed:
            get_run_logger().warning("%s; the same command tries them again", judged)
        try:
            self._show_budget(self._spending.look(self._steering.controls.budget_usd), at_end=True)
            self._canaries.report(artifact_key("canaries", collection))
            for kind, document, about in (
                ("funnel", funnel_document(run), "what became of the pairs of the last run"),
                ("pairs", pairs_document(run), "slowest and failed pairs of the last run"),
            ):
                key = artifact_key(kind, collection)
                create_markdown_artifact(markdown_page(document), key=key, description=about)
        except Exception as refused:  # noqa: BLE001 - what a page shows is not worth a run
            get_run_logger().warning("the end of the run cannot be shown: %s", refused)

    def judged_pairs(self) -> JudgedPairs:
        """Return what became of the pairs, in a few words."""
        run = self._judged_run()
        failed = run.with_status("failed")
        most_often = run.most_often("failed") if failed else ""
        return JudgedPairs(pairs=run.judged, failed=failed, most_often=most_often)

    def _judged_run(self) -> JudgedRun:
        slowest = [pair for _, _, pair in sorted(self._slowest, reverse=True)]
        return JudgedRun(
            collection=self._plan.collection,
            model=self._plan.recipe.model,
            pending=self._plan.pending,
            canaries=self._canaries.counts,
            endings=tuple((*ending, number) for ending, number in self._endings.most_common()),
            spent_usd=self._spending.usd - self._spending.before_usd,
            spent_tokens=self._spending.tokens - self._spending.before_tokens,
            slowest=tuple(slowest),
            failed=tuple(self._failed),
        )

    def _tell(self, collection: str, error: Exception | None) -> None:
        model = self._plan.recipe.model
        if isinstance(error, BudgetExhaustedError):
            tell_of_budget(self._plan, error, self._spending)
        if isinstance(error, CanaryError):
            counts = self._canaries.counts
            run_events.canary_alarm(
                collection,
                str(error),
                {"model": model, "judged": counts.judged, "wrong": counts.wrong},
            )
