"""The flow's side of an annotation run: submits shards and stores what workers send.

It imports Ray, which takes a second: the flow imports this module when there is work.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from prefect.futures import PrefectFuture

from agents import Endpoint
from infra.errors import LanguageModelError
from infra.ids import PairKey
from infra.records import Pair
from infra.settings import Settings, StoreSettings
from infra.store import Database, annotations, benchmarks, open_database
from infra.store.pending import Position, load_pending
from tasks.runtime.mailbox import (
    RayAnnotationQueue,
    StoredPairs,
    cluster_cores,
    ended_futures,
    shard_result,
)
from tasks.runtime.progress import Progress, progress
from tasks.stages.annotate.canaries import CanaryWatch, judged_so_far, mixed_in
from tasks.stages.annotate.plan import AnnotationPlan
from tasks.stages.annotate.shard import annotate_shard
from tasks.stages.annotate.sinks import store_annotations

_POLL_S = 0.5
_PAIRS_READ_AT_ONCE = 1_000


def annotate_pending(plan: AnnotationPlan, settings: Settings, endpoint: Endpoint | None) -> int:
    """Have workers judge what a plan leaves to judge, and store it; return how many pairs failed.

    Pairs are read from the store while the run goes on, and no more shards are submitted than keep
    the cluster busy: neither memory nor the cost of a shard grows with the number of pairs.

    Raises:
        CanaryError: Too many pairs with known answers were judged wrongly.
        CosqaError: A shard ended with that error; what the others sent is stored.
    """
    database = open_database(settings.store)
    window = settings.annotation.shards_per_core * cluster_cores()
    with _logged_run(plan, settings.store) as bar:
        gathering = Gathering(database, bar, canary_watch(plan, settings, database))
        for number, pairs in enumerate(shards_of(database, plan, settings.annotation.shard_size)):
            future = annotate_shard.submit(
                number, StoredPairs(pairs), settings, plan.recipe, gathering.queue, endpoint
            )
            gathering.add(future, [pair.key for pair in pairs])
            if not gathering.wait_until_below(window):
                break
        return gathering.end()


@contextmanager
def _logged_run(plan: AnnotationPlan, store: StoreSettings) -> Iterator[Progress]:
    """Report the progress of a run and log, when it ends in whatever way, what it did."""
    database = open_database(store)
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


def shards_of(database: Database, plan: AnnotationPlan, shard_size: int) -> Iterator[list[Pair]]:
    """Yield the plan's pairs in shards, canaries among them, reading as they are asked for."""
    keys = [canary.key for canary in plan.canaries]
    canaries = annotations.load_pairs(database, keys)
    pending = islice(_pending_pairs(database, plan), plan.pending)
    pairs = mixed_in(pending, canaries, plan.pending)
    while shard := list(islice(pairs, shard_size)):
        yield shard


def _pending_pairs(database: Database, plan: AnnotationPlan) -> Iterator[Pair]:
    position = Position()
    while True:
        pairs, position = load_pending(database, plan.selection, position, _PAIRS_READ_AT_ONCE)
        yield from pairs
        if len(pairs) < _PAIRS_READ_AT_ONCE:
            return


def canary_watch(plan: AnnotationPlan, settings: Settings, database: Database) -> CanaryWatch:
    """Return what watches a run's canaries, knowing how the recipe's earlier ones were judged."""
    own = {canary.key: canary.label for canary in plan.canaries}
    limit = 1.0 if plan.recipe.demo else settings.annotation.canary_limit
    if not own:
        return CanaryWatch(own, limit, plan.recipe.model)
    earlier, answers = judged_so_far(database, plan.recipe.recipe_id)
    return CanaryWatch({**answers, **own}, limit, plan.recipe.model, earlier)


class Gathering:
    """Stores annotations as they come in, and follows the shards that were submitted.

    An error that every shard would meet (of the model, or too many canaries judged wrongly) ends
    the run: pairs in flight are still stored, no others are begun. Any other error of a shard is
    raised when all others have ended.

    Args:
        database: The store; only the flow's process writes to it.
        bar: Counts what has come in.
        watch: Watches the canaries.
    """

    def __init__(self, database: Database, bar: Progress, watch: CanaryWatch) -> None:
        self.queue = RayAnnotationQueue()
        self._database = database
        self._bar = bar
        self._watch = watch
        self._running: dict[PrefectFuture[int], list[PairKey]] = {}
        self._failed = 0
        self._error: Exception | None = None
        self._open = True

    def add(self, future: PrefectFuture[int], keys: list[PairKey]) -> None:
        """Follow a shard of these pairs."""
        self._running[future] = keys

    def wait_until_below(self, window: int) -> bool:
        """Wait until fewer shards are running; return whether more are wanted."""
        while len(self._running) >= window:
            ended = ended_futures(list(self._running), _POLL_S)
            self._store_arrived()
            for future in ended:
                self.queue.forget(self._running.pop(future))
                self._take_result(future)
        return self._open

    def end(self) -> int:
        """Wait for all shards; return how many pairs failed.

        Raises:
            CanaryError: Too many pairs with known answers were judged wrongly.
            CosqaError: A shard ended with that error.
        """
        self.wait_until_below(1)
        self._watch.report()
        if error := self._watch.alarm or self._error:
            raise error
        return self._failed

    def _store_arrived(self) -> None:
        if arrived := self.queue.drain():
            store_annotations(self._database, arrived)
            self._bar.advance(len(arrived))
            self._watch.see(arrived)
            if self._watch.alarm:
                self._close()

    def _take_result(self, future: PrefectFuture[int]) -> None:
        try:
            self._failed += shard_result(future)
        except Exception as error:  # noqa: BLE001 - raised when the others have ended
            self._error = self._error or error
            if isinstance(error, LanguageModelError):
                self._close()

    def _close(self) -> None:
        self._open = False
        self.queue.close()
