"""Stage 4: agents judge every candidate pair that the recipe has not judged yet.

The flow's process plans the shards and writes; workers judge. A shard sends each annotation to the
mailbox the moment it is made, so that a crash loses at most the pairs in the air, whose replies are
in the store of replies and are not paid again.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from prefect import task
from prefect.futures import PrefectFuture
from prefect.logging import get_run_logger

from agents import Endpoint, build_committee, recipe_of
from agents.committee.configurations import PLANS
from agents.llm.embedded import embedded_server, find_model_file
from infra.errors import BudgetExhaustedError, LanguageModelError, ModelUnavailableError
from infra.identity import digest_of
from infra.records import Annotation, Pair, Record
from infra.settings import LanguageModelSettings, Settings
from infra.store import annotations, benchmarks, candidates, corpus, open_database
from sandbox.backends import make_sandbox
from sandbox.packages.resolve import distribution_for
from tasks.canaries import Canary, CanaryWatch, judged_so_far, mixed_in, next_canaries
from tasks.embed import cut
from tasks.progress import Progress, progress
from tasks.references import AnnotationReference, SearchReference

_POLL_S = 0.5
_worker_loop = asyncio.Runner()  # one loop for the life of a worker's process


class Recipient(Protocol):
    """Where annotations go the moment they are made."""

    def put(self, annotation: Annotation) -> bool:
        """Take one annotation; tell whether more are wanted."""
        ...


class Outbox(Recipient, Protocol):
    """A shard's way to the flow's process (`tasks.ray_workers.Mailbox`)."""

    def drain(self) -> list[Annotation]:
        """Return what has come in since the last call."""
        ...

    def finished(self) -> set[tuple[str, str]]:
        """Return (query, code) of all finished pairs that came in."""
        ...

    def close(self) -> None:
        """Want no more annotations."""
        ...


class AnnotationPlan(Record):
    """What is left to judge: shards of pairs, canaries among them, under a recipe."""

    reference: AnnotationReference
    shards: tuple[tuple[Pair, ...], ...]
    canaries: tuple[Canary, ...] = ()

    @property
    def pairs(self) -> int:
        """How many pairs are left."""
        return sum(len(shard) for shard in self.shards)


def recipe_identity(settings: Settings) -> tuple[str, dict[str, object]]:
    """Return the id and the body of the recipe: everything that could change a label.

    A configuration that runs nothing needs no engine.

    Raises:
        EngineUnavailableError: No Docker engine answers.
        ImageMissingError: The sandbox image is not there.
    """

    async def describe() -> str:
        sandbox = make_sandbox(settings.sandbox)
        try:
            return await sandbox.check()
        finally:
            await sandbox.close()

    runs = PLANS[settings.annotation.configuration].runs == "box"
    recipe = recipe_of(settings, asyncio.run(describe()) if runs else "")
    return digest_of(recipe), recipe


@task(name="plan-annotation")
def plan_annotation(search: SearchReference, settings: Settings) -> AnnotationPlan:
    """Find the pairs of a search that the present recipe has not finished, and cut them up."""
    database = open_database(settings.store)
    recipe_id, recipe = recipe_identity(settings)
    annotations.record_recipe(database, recipe_id, recipe, demo=settings.llm.is_demo)
    limit = settings.annotation.limit
    done = annotations.finished_pairs(database, recipe_id)
    found = candidates.load_candidates(database, search.search_id, search.collection, limit)
    waiting = [pair for item in found if (pair := (item.query_id, item.code_id)) not in done]
    query_of = {
        item.query_id: item for item in corpus.load_queries(database, search.collection, limit)
    }
    code_of = {item.code_id: item for item in corpus.load_codes(database, search.collection)}
    pairs = [Pair(query=query_of[query], code=code_of[code]) for query, code in waiting]
    birds = next_canaries(done, len(pairs), settings)
    annotations.record_pairs(database, [canary.pair for canary in birds])
    get_run_logger().info(
        "%s of %s pairs of %s are left to judge by %s", f"{len(pairs):,}", f"{len(found):,}",
        search.collection, settings.llm.model,
    )  # fmt: skip
    return AnnotationPlan(
        reference=AnnotationReference(
            recipe_id=recipe_id,
            search_id=search.search_id,
            collection=search.collection,
            model=settings.llm.model,
            demo=settings.llm.is_demo,
        ),
        shards=tuple(
            tuple(shard) for shard in cut(mixed_in(pairs, birds), settings.annotation.shard_size)
        ),
        canaries=birds,
    )


@contextmanager
def served_model(settings: LanguageModelSettings) -> Iterator[Endpoint | None]:
    """Serve the embedded model for the length of a ``with``; any other is served elsewhere."""
    if not settings.is_demo:
        yield None
        return
    with embedded_server(find_model_file()) as endpoint:
        yield endpoint


@task(
    name="annotate-shard",
    task_run_name="annotate-{recipe_id}-{number}",
    tags=["annotate"],
    retries=1,
    retry_delay_seconds=5,
    retry_condition_fn=lambda _task, _run, state: _may_pass_by_itself(state),
)
def annotate_shard(
    number: int,
    pairs: Sequence[Pair],
    settings: Settings,
    recipe_id: str,
    outbox: Outbox,
    endpoint: Endpoint | None,
) -> int:
    """Judge the pairs of a shard on a worker, several at once; return how many failed.

    Raises:
        ModelRefusedError: The key, the model's name or the request is wrong.
        BudgetExhaustedError: What may be spent on the model is spent.
        ModelUnavailableError: So many pairs failed in a row that the rest would only fail too.
    """
    done = outbox.finished()
    waiting = [pair for pair in pairs if (pair.query.query_id, pair.code.code_id) not in done]
    failed = _worker_loop.run(judge_all(waiting, settings, recipe_id, outbox, endpoint))
    get_run_logger().info("shard %s: %s pairs judged, %s failed", number, len(waiting), failed)
    return failed


def _may_pass_by_itself(state: object) -> bool:
    """Tell whether another try could help: a lost worker yes, a wrong key or a dead model no."""
    error = getattr(getattr(state, "data", None), "exception", None)
    return not isinstance(error, LanguageModelError)


async def judge_all(
    pairs: Sequence[Pair],
    settings: Settings,
    recipe_id: str,
    outbox: Recipient,
    endpoint: Endpoint | None,
) -> int:
    """Judge pairs, several at once, and send each annotation off; return how many failed.

    Raises:
        ModelRefusedError: The key, the model's name or the request is wrong.
        ModelUnavailableError: So many pairs failed in a row that the rest would only fail too.
        BudgetExhaustedError: What may be spent on the model is spent.
    """
    sandbox = make_sandbox(settings.sandbox)
    committee = build_committee(settings, recipe_id, sandbox, distribution_for, endpoint)
    counter = _FailureCounter(settings.annotation.stop_after_failures)
    queue = iter(pairs)
    stopped: list[BudgetExhaustedError] = []

    async def work() -> None:
        for pair in queue:
            try:
                annotation = await committee.judge(pair)
            except BudgetExhaustedError as error:  # lets requests that are paid come to their end
                stopped.append(error)
                return
            wanted = await asyncio.to_thread(outbox.put, annotation)
            counter.count(annotation)
            if not wanted:
                return

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(settings.annotation.concurrency):
                group.create_task(work())
    except* LanguageModelError as errors:
        raise errors.exceptions[0] from None
    finally:
        await committee.close()
        await sandbox.close()
    if stopped:
        raise stopped[0]
    return counter.failed


class _FailureCounter:
    """Counts failed pairs and stops the shard when too many fail in a row."""

    def __init__(self, allowed_in_a_row: int) -> None:
        self.failed = 0
        self._in_a_row = 0
        self._allowed = allowed_in_a_row

    def count(self, annotation: Annotation) -> None:
        """Take note of an annotation.

        Raises:
            ModelUnavailableError: One failure too many in a row.
        """
        if annotation.status != "failed":
            self._in_a_row = 0
            return
        self.failed += 1
        self._in_a_row += 1
        if self._in_a_row >= self._allowed:
            raise ModelUnavailableError(
                f"{self._in_a_row} pairs failed in a row, the last one with: {annotation.reason}; "
                "what was judged is stored: run the same command again when the cause is gone"
            )


def open_outbox() -> Outbox:
    """Return the mailbox of this run; Ray must be connected."""
    from tasks.ray_workers import Mailbox  # noqa: PLC0415 - Ray takes seconds to import

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
