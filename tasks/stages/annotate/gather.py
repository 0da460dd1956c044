"""The flow's side of an annotation run: submits shards, and stores annotations as they arrive.

It imports Ray, which takes a second: the flow imports this module only if there are pending pairs.
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
from infra.settings import Settings
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
from tasks.stages.annotate.canaries import CanaryWatch, load_judged_canaries, mix_canaries
from tasks.stages.annotate.plan import AnnotationPlan, in_round
from tasks.stages.annotate.shard import annotate_shard
from tasks.stages.annotate.sinks import store_annotations

_POLL_S = 0.5
_PAIR_BATCH = 1_000


def annotate_pending(plan: AnnotationPlan, settings: Settings, endpoint: Endpoint | None) -> int:
    """Judge a plan's pairs on workers and store their annotations; return how many pairs failed.

    Pairs are read during the run, and only as many shards are in flight as keep the cluster busy:
    neither memory nor the cost of a shard grows with the number of pairs.

    Raises:
        CanaryError: Too many canaries were judged wrongly.
        CosqaError: The first error of a shard; annotations of the others are stored.
    """
    database = open_database(settings.store)
    window = settings.annotation.shards_per_core * cluster_cores()
    with _logged_run(plan, settings) as bar:
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
def _logged_run(plan: AnnotationPlan, settings: Settings) -> Iterator[Progress]:
    """Yield the progress bar of a run; store the stage's run at its end, also after an error."""
    database = open_database(settings.store)
    started = time.monotonic()
    named = in_round(plan.recipe, settings)
    with progress("annotation", f"pairs judged{named}", plan.pairs) as bar:
        try:
            yield bar
        finally:
            run = benchmarks.StageRun(
                collection=plan.reference.collection,
                stage=f"annotate{named}",
                items=bar.done,
                seconds=time.monotonic() - started,
            )
            benchmarks.record_stage_run(database, run)


def shards_of(database: Database, plan: AnnotationPlan, shard_size: int) -> Iterator[list[Pair]]:
    """Yield the plan's pairs and canaries in shards, read from the store on demand."""
    keys = [canary.key for canary in plan.canaries]
    canaries = annotations.load_pairs(database, keys)
    pending = islice(_pending_pairs(database, plan), plan.pending)
    pairs = mix_canaries(pending, canaries, plan.pending)
    while shard := list(islice(pairs, shard_size)):
        yield shard


def _pending_pairs(database: Database, plan: AnnotationPlan) -> Iterator[Pair]:
    position = Position()
    while True:
        pairs, position = load_pending(database, plan.selection, position, _PAIR_BATCH)
        yield from pairs
        if len(pairs) < _PAIR_BATCH:
            return


def canary_watch(plan: AnnotationPlan, settings: Settings, database: Database) -> CanaryWatch:
    """Return the watch over a run's canaries, with the recipe's earlier canaries."""
    own = {canary.key: canary.label for canary in plan.canaries}
    limit = 1.0 if plan.recipe.demo else settings.annotation.canary_limit
    if not own:
        return CanaryWatch(own, limit, plan.recipe.model)
    earlier, answers = load_judged_canaries(database, plan.recipe.recipe_id)
    return CanaryWatch({**answers, **own}, limit, plan.recipe.model, earlier)


class Gathering:
    """The shards in flight, whose annotations it stores as they arrive.

    An error of the model, or too many canaries judged wrongly, ends the run: pairs in flight are
    still stored, no more are started. Any other error of a shard is raised after all shards ended.

    Args:
        database: The store; only the flow's process writes to it.
        bar: The progress bar.
        watch: The watch over the canaries.
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
        """Add a submitted shard of these pairs."""
        self._running[future] = keys

    def wait_until_below(self, window: int) -> bool:
        """Wait until fewer than ``window`` shards run; return whether to submit more."""
        while len(self._running) >= window:
            ended = ended_futures(list(self._running), _POLL_S)
            self._store_arrived()
            for future in ended:
                self.queue.discard(self._running.pop(future))
                self._take_result(future)
        return self._open

    def end(self) -> int:
        """Wait for all shards; return how many pairs failed.

        Raises:
            CanaryError: Too many canaries were judged wrongly.
            CosqaError: The first error of a shard.
        """
        self.wait_until_below(1)
        self._watch.report()
        if error := self._watch.alarm or self._error:
            raise error
        return self._failed

    def _store_arrived(self) -> None:
        if arrived := self.queue.drain():
            store_annotations(self._database, arrived)
            self._bar.advance(sum(item.status != "pending" for item in arrived))
            self._watch.add(arrived)
            if self._watch.alarm:
                self._close()

    def _take_result(self, future: PrefectFuture[int]) -> None:
        try:
            self._failed += shard_result(future)
        except Exception as error:  # noqa: BLE001 - raised by `end`
            self._error = self._error or error
            if isinstance(error, LanguageModelError):
                self._close()

    def _close(self) -> None:
        self._open = False
        self.queue.close()
