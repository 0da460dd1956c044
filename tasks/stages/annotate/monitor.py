"""Progress of a round of judging, and the page that it leaves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import isfinite

from prefect.artifacts import create_markdown_artifact
from prefect.logging import get_run_logger

from agents import JournalLedger
from infra.errors import BudgetExhaustedError, GoldQuestionError
from infra.ids import PairKey
from infra.records import Annotation, GivenVote
from tasks.reports.judging import JudgedRun, judged_document
from tasks.reports.render import markdown_page
from tasks.reports.text import format_cost
from tasks.runtime.artifacts import artifact_key
from tasks.runtime.progress import Progress
from tasks.runtime.references import JudgedPairs
from tasks.stages.annotate.gold import alarm_of, count_questions
from tasks.stages.annotate.plan import AnnotationPlan

_SHOWN_PAIRS = 20


class ProgressMonitor:
    """Counts the annotations of a round, and shows them while it goes on and at its end.

    Args:
        plan: The pairs of the round.
        ledger: The model's, with the run's budget.
        known: Keys of gold questions → their known labels.
        gold_limit: Largest share of gold questions that may be judged wrongly.
        bar: The progress bar.
        browse: The command that shows all pairs on pages.

    Attributes:
        arrived: Number of pairs whose annotations have arrived.
        alarm: The error that ends the round, since too many gold questions are judged wrongly.
    """

    def __init__(
        self,
        plan: AnnotationPlan,
        ledger: JournalLedger,
        known: Mapping[PairKey, GivenVote],
        gold_limit: float,
        bar: Progress,
        browse: str,
    ) -> None:
        self.arrived = 0
        self.alarm: GoldQuestionError | None = None
        self._plan, self._bar, self._browse = plan, bar, browse
        self._ledger = ledger
        self._known, self._gold_limit = known, gold_limit
        self._gold: list[Annotation] = []
        self._endings: Counter[tuple[str, str, int | None]] = Counter()
        self._failed: list[Annotation] = []

    def add(self, arrived: Sequence[Annotation]) -> None:
        """Count annotations; gold questions are counted apart unless they got no label."""
        for item in arrived:
            if item.key in self._known and item.label is not None:
                self._gold.append(item)
                continue
            self._endings[item.status, str(item.path), item.label] += 1
            if item.status == "failed" and len(self._failed) < _SHOWN_PAIRS:
                self._failed.append(item)
        self.arrived += len(arrived)
        counts = count_questions(self._gold, self._known)
        self.alarm = alarm_of(counts, self._gold_limit, self._plan.recipe.model)
        self._bar.advance(max(0, self.arrived - self._bar.done))

    def refresh(self, judged: int) -> None:
        """Show how many pairs are judged, how many failed and what is spent.

        Args:
            judged: Number of judged pairs of shards that have not ended.
        """
        failed = self.judged_pairs().failed
        tokens, usd = self._ledger.spent()
        _, left = self._ledger.left()
        notes = [
            f"{failed:,} failed" if failed else "",
            f"{format_cost(usd)} spent" if tokens else "",
            f"{format_cost(left)} left" if isfinite(left) else "",
        ]
        self._bar.note = ", ".join(filter(None, notes))
        self._bar.advance(max(0, self.arrived + judged - self._bar.done))

    def close(self) -> None:
        """Make the page of the round; called once, at its end.

        A server that takes no page ends no run, and what cannot be shown hides no error.
        """
        if (judged := self.judged_pairs()).failed:
            get_run_logger().warning("%s; the same command tries them again", judged)
        collection = self._plan.collection
        try:
            create_markdown_artifact(
                markdown_page(judged_document(self._judged_run())),
                key=artifact_key("judged", collection),
                description="what became of the pairs of the last run",
            )
        except Exception as refused:  # noqa: BLE001 - what a page shows is not worth a run
            get_run_logger().warning("the end of the run cannot be shown: %s", refused)

    def judged_pairs(self) -> JudgedPairs:
        """Return the counts of the judged pairs."""
        run = self._judged_run()
        failed = run.with_status("failed")
        most_often = run.most_often("failed") if failed else ""
        return JudgedPairs(pairs=run.judged, failed=failed, most_often=most_often)

    def _judged_run(self) -> JudgedRun:
        tokens, usd = 0, 0.0
        with suppress(BudgetExhaustedError):  # the journal cannot be read
            tokens, usd = self._ledger.spent()
        return JudgedRun(
            collection=self._plan.collection,
            model=self._plan.recipe.model,
            pending=self._plan.pending,
            gold=count_questions(self._gold, self._known),
            endings=tuple((*ending, number) for ending, number in self._endings.most_common()),
            spent_usd=usd,
            spent_tokens=tokens,
            failed=tuple(self._failed),
            browse=self._browse,
        )
