"""The flow's side of an annotation run: stores what workers send, and watches over it."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from prefect.futures import PrefectFuture

from infra.settings import Settings
from infra.store import annotations, benchmarks, open_database
from tasks.runtime.mailbox import Outbox
from tasks.runtime.progress import Progress, progress
from tasks.stages.annotate.canaries import CanaryWatch, judged_so_far
from tasks.stages.annotate.plan import AnnotationPlan

_POLL_S = 0.5


def open_outbox() -> Outbox:
    """Return the mailbox of this run; Ray must be connected."""
    from tasks.runtime.mailbox import Mailbox  # noqa: PLC0415 - Ray takes seconds to import

    return Mailbox()


@contextmanager
def annotation_run(plan: AnnotationPlan, settings: Settings) -> Iterator[Progress]:
    """Report the progress of a run and log, when it ends in whatever way, what it did."""
    database = open_database(settings.store)
    started = time.monotonic()
    with progress("annotation", "pairs judged", plan.pairs) as bar:
        try:
            yield bar
        finally:
            run = benchmarks.StageRun(
                collection=plan.reference.collection,
                stage="annotate",
                items=bar.done,
                seconds=time.monotonic() - started,
            )
            benchmarks.record_stage_run(database, run)


def canary_watch(plan: AnnotationPlan, settings: Settings) -> CanaryWatch:
    """Return what watches a run's canaries, knowing how the recipe's earlier ones were judged."""
    own = {canary.key: canary.label for canary in plan.canaries}
    if not own:
        return CanaryWatch(own, settings)
    database = open_database(settings.store)
    earlier, answers = judged_so_far(database, plan.reference.recipe_id)
    return CanaryWatch({**answers, **own}, settings, earlier)


def gather_annotations(
    futures: Sequence[PrefectFuture[int]],
    outbox: Outbox,
    settings: Settings,
    bar: Progress,
    watch: CanaryWatch,
) -> int:
    """Store annotations as they come in until all shards have ended; return how many failed.

    Raises:
        CanaryError: Too many pairs with known answers were judged wrongly.
        CosqaError: A shard ended with that error; what the others sent is stored.
    """
    database = open_database(settings.store)
    running = list(futures)
    while running:
        running[0].wait(timeout=_POLL_S)
        running = [future for future in running if not future.state.is_final()]
        if arrived := outbox.drain():
            annotations.add_annotations(database, arrived)
            bar.advance(len(arrived))
            watch.see(arrived)
            if watch.alarm:
                outbox.close()
    watch.report()
    if alarm := watch.alarm:
        raise alarm
    return sum(future.result() for future in futures)
