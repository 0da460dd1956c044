"""The flow's side of an annotation run: feeds the judges, and stores annotations as they arrive.

It imports Ray, which takes a second: the flow imports this module only if there are pending pairs.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from tempfile import NamedTemporaryFile

from prefect.exceptions import TerminationSignal
from prefect.futures import PrefectFuture

from infra.errors import BudgetExhaustedError, DiskFullError, StoreError
from infra.ray import box_resources
from infra.records import Annotation, Pair
from infra.settings import Settings
from infra.store import Database, annotations, benchmarks, open_database
from infra.store.pending import pairs_in
from tasks.runtime.progress import Progress, progress
from tasks.runtime.ray_queue import (
    RayPairQueue,
    end_futures,
    ended_futures,
    judge_result,
    room_for,
)
from tasks.runtime.references import JudgedPairs
from tasks.runtime.run_events import artifact_key
from tasks.runtime.run_logger import run_logger
from tasks.stages.annotate.canaries import CanaryWatch, load_judged_canaries, mix_canaries
from tasks.stages.annotate.judge import ENDS_ALL, delays_of, judge
from tasks.stages.annotate.plan import AnnotationPlan, in_round
from tasks.stages.annotate.run_watch import RunWatch
from tasks.stages.annotate.sinks import AnnotationWriter

_MARK = ".judges-"
_POLL_S = 0.25
_PLACES_A_JUDGE = 16  # a judge with fewer would wait for the model more than it works
_SHORTEST_QUEUE = 500  # pairs; replies that are kept are judged at hundreds of pairs a second

Judge = PrefectFuture[int]


def annotate_pending(plan: AnnotationPlan, settings: Settings) -> JudgedPairs:
    """Judge a plan's pairs on workers and store their annotations.

    Pairs are read while they are judged, and only a few wait in the queue: memory does not grow
    with their number.

    Raises:
        CanaryError: Too many canaries were judged wrongly.
        CosqaError: The first error of a judge or of the store; what was stored before stays.
    """
    database = open_database(settings.store)
    in_flight = settings.annotation.in_flight
    places = min(in_flight, plan.pending + len(plan.canaries))
    judges = -(-places // _PLACES_A_JUDGE)  # of which Ray starts as many as find room
    with (
        RayPairQueue(in_flight) as queue,
        _mark_in(database) as mark,
        _logged_run(plan, settings) as bar,
    ):
        delays = delays_of(settings.annotation.patience_s)
        patient = judge.with_options(retries=len(delays), retry_delay_seconds=delays)

        def submit(number: int) -> Judge:
            return patient.submit(number, settings, plan.recipe, plan.budget, queue, mark)

        canaries = canary_watch(plan, settings, database)
        watch = RunWatch(plan, settings, bar, canaries)
        patience_s = settings.ray.placement_timeout_s
        pairs = pairs_of(database, plan)
        gathering = Gathering(pairs, queue, submit, watch, patience_s)
        length = max(4 * in_flight, _SHORTEST_QUEUE)
        gathering.run(AnnotationWriter(database), judges, length)
        return watch.judged_pairs()


@contextmanager
def _mark_in(database: Database) -> Iterator[Path]:
    """Yield an empty file in the store's folder: workers that see it share this very folder.

    Those of earlier runs, which were killed, are removed: one run at a time has the store's lease.
    """
    folder = database.settings.folder
    with database.space():
        for left in folder.glob(f"{_MARK}*"):
            left.unlink(missing_ok=True)
        mark = NamedTemporaryFile(prefix=_MARK, dir=folder)  # noqa: SIM115 - see below
    with mark:
        yield Path(mark.name)


@contextmanager
def _logged_run(plan: AnnotationPlan, settings: Settings) -> Iterator[Progress]:
    """Yield the progress bar of a run; store the stage's run at its end, also after an error."""
    database = open_database(settings.store)
    started = time.monotonic()
    named = in_round(plan.recipe, settings)
    key = artifact_key("annotation", plan.collection)
    with progress(key, f"pairs judged{named}", plan.pairs) as bar:
        run_is_whole = False
        try:
            yield bar
            run_is_whole = True
        finally:
            # After an error of the store, that error is the one to be seen.
            unseen = () if run_is_whole else (StoreError, DiskFullError)
            with contextlib.suppress(*unseen):
                benchmarks.record_stage_run(
                    database, plan.collection, f"annotate{named}", bar.done, started
                )


def pairs_of(database: Database, plan: AnnotationPlan) -> Iterator[Pair]:
    """Yield the plan's pairs with the canaries among them, read from the store on demand."""
    keys = [canary.key for canary in plan.canaries]
    canaries = annotations.load_pairs(database, keys)
    pending = pairs_in(database, plan.collection, plan.pairs_file)
    return mix_canaries(pending, canaries, plan.pending)


def canary_watch(plan: AnnotationPlan, settings: Settings, database: Database) -> CanaryWatch:
    """Return the watch over a run's canaries, with the recipe's earlier canaries."""
    own = {canary.key: canary for canary in plan.canaries}
    limit = settings.annotation.canary_limit
    if not own:
        return CanaryWatch(own, limit, plan.recipe.model)
    earlier, known = load_judged_canaries(database, plan.recipe.recipe_id)
    return CanaryWatch({**known, **own}, limit, plan.recipe.model, earlier)


class Gathering:
    """The judges of a run: it fills their queue and stores what arrives.

    An error of the model, the settings or the store, or too many canaries judged wrongly, ends the
    run: pairs in flight are still stored, no more are started. Any other error of a judge is raised
    after the others have judged all pairs. Judges that have found no room until then are ended.

    Args:
        pairs: The pairs to judge.
        queue: The queue between this process and the judges.
        submit: Starts a judge of that number.
        watch: Counts and shows what arrives.
        patience_s: After so many seconds without a judge, the log says what judges need.
    """

    def __init__(
        self,
        pairs: Iterator[Pair],
        queue: RayPairQueue,
        submit: Callable[[int], Judge],
        watch: RunWatch,
        patience_s: float,
    ) -> None:
        self._pairs = pairs
        self._queue = queue
        self._submit = submit
        self._watch = watch
        self._patience_s = patience_s
        self._look_at = time.monotonic() + patience_s
        self._numbers = count()
        self._running: dict[Judge, int] = {}
        self._waiting = 0
        self._has_all = False
        self._is_done = False
        self._is_ending = False
        self._failed = 0
        self._lost = 0
        self._error: Exception | None = None

    def run(self, writer: AnnotationWriter, judges: int, queue_length: int) -> int:
        """Judge all pairs; return how many failed.

        Args:
            writer: Stores annotations.
            judges: How many judges to start.
            queue_length: How many pairs to keep waiting.

        Raises:
            CanaryError: Too many canaries were judged wrongly.
            CosqaError: The first error of a judge or of the store.
        """
        for _ in range(judges):  # their processes start while the queue's own does
            self._start()
        try:
            self._turn(writer, queue_length)
            while self._running:
                ended = ended_futures(list(self._running), _POLL_S)
                self._turn(writer, queue_length)
                for future in ended:
                    self._take_result(future, judges)
                if self._is_done or self._is_ending:
                    self._dismiss()
                self._look_for_judges()
        except (KeyboardInterrupt, TerminationSignal):
            end_futures(list(self._running))
            raise
        self._store(self._queue.offer([], is_last=True).annotations, writer)
        with self._ending_the_run():
            writer.flush()
        error = self._watch.alarm or self._error
        self._watch.close(error)
        if error:
            raise error
        return self._failed

    def _start(self) -> None:
        number = next(self._numbers)
        self._running[self._submit(number)] = number

    def _turn(self, writer: AnnotationWriter, queue_length: int) -> None:
        """Fill the queue and store what has arrived."""
        wanted = max(0, queue_length - self._waiting)
        pairs: list[Pair] = []
        with self._ending_the_run():
            pairs += islice(self._pairs, wanted)
        self._has_all = len(pairs) < wanted
        returned = self._queue.offer(pairs, is_last=self._has_all)
        self._waiting = returned.waiting
        for why in returned.told:
            run_logger(__name__).warning("a judge stops, to be tried again later: %s", why)
        self._is_done = self._has_all and not (returned.waiting or returned.judging)
        self._store(returned.annotations, writer)
        with self._ending_the_run():
            self._watch.turn(returned.waiting, returned.judging)

    def _store(self, arrived: list[Annotation], writer: AnnotationWriter) -> None:
        with self._ending_the_run():
            writer.add(arrived)
        self._watch.add(arrived)
        if self._watch.alarm:
            self._end()

    def _take_result(self, future: Judge, judges: int) -> None:
        """Add up a judge that has ended; start another where pairs are left.

        One that was lost is replaced too, but not for ever: all may have the same fault.
        """
        number = self._running.pop(future)
        is_whole = False
        try:
            self._failed += judge_result(future)
            is_whole = True
        except Exception as error:  # noqa: BLE001 - raised by `run`
            self._error = self._error or error
            self._lost += 1
            if isinstance(error, ENDS_ALL):
                self._end()
        self._queue.leave(number)
        is_left = not (self._has_all and is_whole) or self._waiting > 0
        if is_left and not self._is_ending and (is_whole or self._lost <= judges):
            self._start()

    def _dismiss(self) -> None:
        """End judges that take no part: they wait for room, or for their next try."""
        at_work = self._queue.judges()
        idle = [future for future, number in self._running.items() if number not in at_work]
        if idle:
            end_futures(idle)
        for future in idle:
            del self._running[future]

    def _end(self) -> None:
        """Let pairs in flight be judged, and no more."""
        self._is_ending = True
        self._queue.close()

    def _look_for_judges(self) -> None:
        """Say what judges need where none has been at work for a while."""
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + self._patience_s
        if self._waiting and not self._queue.judges():
            run_logger(__name__).warning(
                "%s pairs wait for a judge, and none is at work: %s; end other work there or "
                "start a node with room", f"{self._waiting:,}", room_for(box_resources()),
            )  # fmt: skip

    @contextmanager
    def _ending_the_run(self) -> Iterator[None]:
        """Let an error of the store or the journal end the run after the pairs in flight."""
        try:
            yield
        except (StoreError, DiskFullError, BudgetExhaustedError) as error:
            self._error = self._error or error
            self._end()
