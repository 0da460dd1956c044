"""Annotations as they arrive: stored, counted, and shown while a round goes on."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite

from agents import JournalLedger
from agents.committee.algorithm import AnnotationPath
from infra.errors import DiskFullError, GoldQuestionError, StoreError
from infra.identity import PairKey
from infra.records import Annotation, GivenVote
from infra.store import Database, annotations
from tasks.reports.text import counted, format_cost, format_words, visible
from tasks.runtime.progress import Progress, get_run_logger, run_logger
from tasks.runtime.references import JudgedPairs
from tasks.stages.annotate.gold import alarm_of, count_questions
from tasks.stages.annotate.plan import AnnotationPlan

_LONGEST_REASON = 200


class ProgressMonitor:
    """Counts the annotations of a round, and shows them while it goes on and at its end.

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
    ) -> None:
        self.arrived = 0
        self.alarm: GoldQuestionError | None = None
        self._plan, self._bar = plan, bar
        self._ledger = ledger
        self._known, self._gold_limit = known, gold_limit
        self._gold: list[Annotation] = []
        self._judged = 0
        self._failed, self._undecided = UnlabelledPairs(), UnlabelledPairs()

    def add(self, arrived: Sequence[Annotation]) -> None:
        """Count annotations; gold questions are counted apart."""
        for item in arrived:
            if item.key in self._known:
                self._gold.append(item)
                continue
            self._judged += 1
            if item.status != "labelled":
                (self._failed if item.status == "failed" else self._undecided).add(item)
        self.arrived += len(arrived)
        counts = count_questions(self._gold, self._known)
        self.alarm = alarm_of(counts, self._gold_limit, self._plan.recipe.model)
        self._advance(0)

    def refresh(self, judged: int, trouble: str = "", reserved_usd: float = 0.0) -> None:
        """Show how many pairs are judged, how many failed, what is spent and what others wait for.

        Args:
            judged: Number of judged pairs of shards that have not ended.
            trouble: What requests wait for, such as a server that does not answer.
            reserved_usd: What requests in flight may take at most, which the ledger has as spent.
        """
        failed = self._failed.counts.total()
        tokens, usd = self._ledger.spent()
        _, left = self._ledger.left()
        notes = [
            f"{counted(len(self._gold), 'gold questions')} besides" if self._gold else "",
            f"{failed:,} failed" if failed else "",
            f"{format_cost(max(0.0, usd - reserved_usd))} spent" if tokens else "",
            f"{format_cost(reserved_usd)} reserved" if reserved_usd else "",
            f"{format_cost(left)} left" if isfinite(left) else "",
        ]
        self._bar.note = ", ".join(filter(None, notes))
        self._bar.trouble = trouble
        self._advance(judged)

    def _advance(self, at_work: int) -> None:
        """Show that so many pairs more are judged than have arrived; those that failed are not."""
        gold_at_work = len(self._plan.gold) - len(self._gold)  # which may be any of these
        judged = self._judged - self._failed.counts.total() + max(0, at_work - gold_at_work)
        self._bar.advance(max(0, judged - self._bar.done))

    def close(self) -> None:
        """Warn of pairs without a label; called once, at the round's end."""
        if (judged := self.judged_pairs()).failed:
            get_run_logger().warning("%s; the same command tries them again", judged)
        for line in self._undecided.lines():
            get_run_logger().warning(line)

    def judged_pairs(self) -> JudgedPairs:
        """Return the counts of the judged pairs, with the path on which most failed."""
        most_often = ""
        if self._failed.counts:
            ((path, _),) = self._failed.counts.most_common(1)
            most_often = format_words(path)
            if reason := self._failed.reasons.get(path):
                most_often += f" ({reason})"
        return JudgedPairs(
            pairs=self._judged, failed=self._failed.counts.total(), most_often=most_often
        )


class UnlabelledPairs:
    """Counts of pairs by their paths.

    Attributes:
        counts: Path → number of pairs.
        reasons: Path → reason of its first pair, on one line.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.reasons: dict[str, str] = {}

    def add(self, annotation: Annotation) -> None:
        """Count a pair."""
        self.counts[annotation.path] += 1
        if annotation.reason and annotation.path not in self.reasons:  # it may quote hostile text
            reason = visible(annotation.reason, _LONGEST_REASON)
            self.reasons[annotation.path] = " ".join(reason.split())

    def lines(self) -> tuple[str, ...]:
        """Return a line for each path, with the reason of its first pair."""
        return tuple(
            f"{counted(number, 'pairs')} without a label, {format_words(path)}: "
            f"{self.reasons.get(path, 'no reason is known')}"
            for path, number in self.counts.most_common()
        )


def store_annotations(database: Database, new_annotations: Sequence[Annotation]) -> None:
    """Store annotations; in place of one that the database refuses, that its pair failed.

    Replies and programs are untrusted input: a value that no column accepts must fail neither the
    other annotations of a batch nor the run.

    Raises:
        StoreError: The database cannot be opened or written; nothing of the batch is stored.
    """
    try:
        annotations.add_annotations(database, new_annotations)
    except (StoreError, DiskFullError):
        raise
    except Exception as error:  # noqa: BLE001 - DuckDB's binding raises many
        if len(new_annotations) > 1:
            middle = len(new_annotations) // 2
            for half in (new_annotations[:middle], new_annotations[middle:]):
                store_annotations(database, half)
            return
        refused = new_annotations[0]
        reason = f"the store refused the annotation: {type(error).__name__}"
        run_logger(__name__).warning(
            "%s; query %s, code %s counts as failed: %s", reason, *refused.key, error
        )
        failure = Annotation(
            query_id=refused.query_id,
            code_id=refused.code_id,
            recipe_id=refused.recipe_id,
            status="failed",
            path=AnnotationPath.INTERNAL_ERROR,
            reason=reason,
        )
        annotations.add_annotations(database, [failure])
