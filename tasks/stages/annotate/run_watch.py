"""What people see of a run of judges: its progress and its artifacts."""

import heapq
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import isfinite

from prefect.artifacts import create_markdown_artifact
from prefect.logging import get_run_logger

from agents import JournalLedger
from infra.errors import (
    BudgetExhaustedError,
    CanaryError,
)
from infra.records import Annotation
from infra.settings import StoreSettings
from infra.store.snapshot import browse_line
from tasks.reports.judging import JudgedRun, funnel_document, pairs_document
from tasks.reports.render import markdown_page
from tasks.reports.text import cost
from tasks.runtime.artifacts import artifact_key
from tasks.runtime.progress import Bar, Progress
from tasks.runtime.references import JudgedPairs
from tasks.stages.annotate.canaries import CanaryWatch
from tasks.stages.annotate.plan import AnnotationPlan

_LOOK_S = 2.0
_SHOW_S = 10.0
_SHOWN_PAIRS = 20


class Spending:
    """What a model has cost, how much it may, and what the run has cost over all its rounds.

    Args:
        ledger: The model's, with the run's budget.

    Attributes:
        tokens: Those of the model.
        usd: The same in US dollars.
        by_run: Tokens and dollars of the run.
        most_usd: What the model may have cost when the budgets end, None without one in dollars.
        most_tokens: The same in tokens.
    """

    def __init__(self, ledger: JournalLedger) -> None:
        self._ledger = ledger
        self.look()

    def look(self) -> None:
        """Read what is spent."""
        self.tokens, self.usd = self._ledger.spent()
        self.by_run = self._ledger.spent_by_run()
        _, left = self._ledger.left()
        self.most_usd = max(0.0, self.usd + left) if isfinite(left) else None
        self.most_tokens = self._ledger.settings.budget_tokens


class RunWatch:
    """Counts what a run stores, and shows it while the run goes on and at its end.

    Args:
        plan: What the run is to judge.
        ledger: The model's, with the run's budget.
        store: The store.
        bar: The progress bar.
        canaries: The watch over the canaries.

    Attributes:
        arrived: Number of pairs whose annotations have arrived.
    """

    def __init__(
        self,
        plan: AnnotationPlan,
        ledger: JournalLedger,
        store: StoreSettings,
        bar: Progress,
        canaries: CanaryWatch,
    ) -> None:
        self._plan = plan
        self._bar, self._store = bar, store
        self._canaries = canaries
        self._spending = Spending(ledger)
        self._budget_bar: Bar | None = None
        self._endings: Counter[tuple[str, str, int | None]] = Counter()
        self._slowest: list[tuple[float, int, Annotation]] = []
        self._failed: list[Annotation] = []
        self._look_at = self._show_at = time.monotonic()
        self.arrived = 0

    @property
    def alarm(self) -> CanaryError | None:
        """The error that ends the run, or None."""
        return self._canaries.alarm

    def add(self, arrived: Sequence[Annotation]) -> None:
        """Count annotations; canaries, which are no labels, only where they failed."""
        for item in self._canaries.add(arrived):
            self._endings[item.status, str(item.path), item.label] += 1
            heapq.heappush(self._slowest, (item.seconds, self._endings.total(), item))
            if len(self._slowest) > _SHOWN_PAIRS:
                heapq.heappop(self._slowest)
            if item.status == "failed" and len(self._failed) < _SHOWN_PAIRS:
                self._failed.append(item)
        self.arrived += len(arrived)
        self._bar.advance(max(0, self.arrived - self._bar.done))

    def turn(self, judged: Callable[[], int]) -> None:
        """Show how the run stands, where it is time to.

        Args:
            judged: Returns how many pairs of shards that have not ended are judged.
        """
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK_S
            self._look()
            self._bar.advance(max(0, self.arrived + judged() - self._bar.done))

    def _look(self) -> None:
        self._show_budget(at_end=False)
        failed = sum(n for (status, *_), n in self._endings.items() if status == "failed")
        self._bar.note = f"{failed:,} of them failed" if failed else ""

    def _show_budget(self, *, at_end: bool) -> None:
        """Look at what is spent; show it against the budget as a bar, where there is a budget."""
        spending = self._spending
        spending.look()
        if spending.most_usd is not None:
            part, whole = spending.usd, spending.most_usd
            words = f"{cost(part)} of {cost(whole)}"
        elif spending.most_tokens is not None:
            part, whole = spending.tokens, spending.most_tokens
            words = f"{part:,} of {whole:,} tokens"
        else:
            return
        if time.monotonic() < self._show_at and not at_end:
            return
        self._show_at = time.monotonic() + _SHOW_S
        description = f"{words} are spent on {self._plan.recipe.model}"
        if self._budget_bar is None:
            key = artifact_key("budget", self._plan.collection)
            self._budget_bar = Bar(key, description)
        self._budget_bar.show(part, whole, description, at_end=at_end)

    def close(self) -> None:
        """Make the artifacts of the run; called once, at its end.

        A server that takes no artifacts ends no run, and what cannot be shown hides no error.
        """
        with suppress(BudgetExhaustedError):  # the journal cannot be read: then as last looked at
            self._look()
        collection = self._plan.collection
        run = self._judged_run()
        if (judged := self.judged_pairs()).failed:
            get_run_logger().warning("%s; the same command tries them again", judged)
        try:
            self._show_budget(at_end=True)
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
            spent_usd=self._spending.by_run[1],
            spent_tokens=self._spending.by_run[0],
            slowest=tuple(slowest),
            failed=tuple(self._failed),
            browse=browse_line(self._store),
        )
