"""The task that judges one shard of pairs on a Ray worker."""

import asyncio
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

from prefect import task

from agents import Committee, Endpoint, build_committee
from agents.committee.paths import AnnotationPath
from infra.errors import BudgetExhaustedError, LanguageModelError, ModelUnavailableError
from infra.records import Annotation, Pair
from infra.settings import Settings
from sandbox.backends import make_sandbox
from tasks.runtime.references import RecipeReference
from tasks.runtime.run_logger import run_logger
from tasks.stages.annotate.sinks import AnnotationSink

if TYPE_CHECKING:
    from tasks.runtime.mailbox import RayAnnotationQueue, StoredPairs

_REASON_CHARACTERS = 500

_worker_loop = asyncio.Runner()  # one loop for all shards of a worker's process


@task(
    name="annotate-shard",
    task_run_name="annotate-{recipe.recipe_id}-{number}",
    tags=["annotate"],
    retries=1,
    retry_delay_seconds=5,
    retry_condition_fn=lambda _task, _run, state: _is_retryable(state),
)
def annotate_shard(
    number: int,
    stored: "StoredPairs",
    settings: Settings,
    recipe: RecipeReference,
    queue: "RayAnnotationQueue",
    endpoint: Endpoint | None,
) -> int:
    """Judge the pairs of a shard on a worker, concurrently; return how many failed.

    Raises:
        ModelRefusedError: The key, the model's name or the request is wrong.
        BudgetExhaustedError: The budget for the model is spent.
        ModelUnavailableError: Too many pairs failed in a row.
    """
    pairs = stored.load()
    wanted = queue.wanted([pair.key for pair in pairs])
    waiting = [pair for pair in pairs if pair.key in wanted]
    failed = judge_on_worker(waiting, settings, recipe, queue, endpoint)
    run_logger(__name__).info("shard %s: %s pairs judged, %s failed", number, len(waiting), failed)
    return failed


def judge_on_worker(
    pairs: Sequence[Pair],
    settings: Settings,
    recipe: RecipeReference,
    sink: AnnotationSink,
    endpoint: Endpoint | None,
) -> int:
    """Judge pairs on the worker's event loop, see `judge_all`.

    Ray pickles the task's function by value, with copies of its globals. This function is imported
    on the worker, so that all shards of a process share one event loop.
    """
    return _worker_loop.run(judge_all(pairs, settings, recipe, sink, endpoint))


def _is_retryable(state: object) -> bool:
    """Return whether a failed shard is to be retried: after any error but those of the model."""
    error = getattr(getattr(state, "data", None), "exception", None)
    return not isinstance(error, LanguageModelError)


async def judge_all(
    pairs: Sequence[Pair],
    settings: Settings,
    recipe: RecipeReference,
    sink: AnnotationSink,
    endpoint: Endpoint | None,
) -> int:
    """Judge pairs concurrently and put their annotations into a sink; return how many failed.

    Raises:
        ModelRefusedError: The key, the model's name or the request is wrong.
        ModelUnavailableError: Too many pairs failed in a row.
        BudgetExhaustedError: The budget for the model is spent.
    """
    sandbox = make_sandbox(settings.sandbox)
    committee = build_committee(
        settings,
        recipe.recipe_id,
        sandbox,
        endpoint,
        recipe.labelling_round,
        by_batch=settings.annotation.batch,
    )
    counter = _FailureCounter(settings.annotation.stop_after_failures)
    queue = iter(pairs)
    budget_errors: list[BudgetExhaustedError] = []

    async def work() -> None:
        for pair in queue:
            try:
                annotation = await _annotation_of(pair, committee, recipe)
            except BudgetExhaustedError as error:  # requests in flight are paid: let them finish
                budget_errors.append(error)
                return
            wanted = await asyncio.to_thread(sink.put, annotation)
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
    if budget_errors:
        raise budget_errors[0]
    return counter.failed


async def _annotation_of(pair: Pair, committee: Committee, recipe: RecipeReference) -> Annotation:
    """Return the committee's annotation; after an unexpected error, one with status failed.

    Raises:
        LanguageModelError: The model refuses every request, or the budget is spent.
    """
    try:
        return await committee.judge(pair)
    except LanguageModelError:
        raise
    except Exception as error:  # noqa: BLE001 - one pair must not fail the others
        run_logger(__name__).exception("query %s, code %s could not be judged", *pair.key)
        return Annotation(
            query_id=pair.query.query_id,
            code_id=pair.code.code_id,
            recipe_id=recipe.recipe_id,
            demo=recipe.demo,
            status="failed",
            path=AnnotationPath.INTERNAL_ERROR,
            reason=_error_text(error),
        )


def _error_text(error: Exception) -> str:
    """Return an exception's type and message, shortened, as text that can be stored."""
    text = traceback.format_exception_only(error)[-1].strip()
    return text[:_REASON_CHARACTERS].encode(errors="backslashreplace").decode()


class _FailureCounter:
    """Counter of failed pairs, which stops the shard if too many fail in a row."""

    def __init__(self, allowed_in_a_row: int) -> None:
        self.failed = 0
        self._in_a_row = 0
        self._allowed = allowed_in_a_row

    def count(self, annotation: Annotation) -> None:
        """Count an annotation.

        Raises:
            ModelUnavailableError: Too many pairs failed in a row.
        """
        if annotation.status != "failed":
            self._in_a_row = 0
            return
        self.failed += 1
        self._in_a_row += 1
        if self._in_a_row >= self._allowed:
            raise ModelUnavailableError(
                f"{self._in_a_row} pairs failed in a row, the last one with: {annotation.reason}; "
                "finished pairs are stored: remove the cause and run the same command again"
            )
