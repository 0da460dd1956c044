"""One shard of pairs, judged on a Ray worker."""

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

_worker_loop = asyncio.Runner()  # one loop for the life of a worker's process


@task(
    name="annotate-shard",
    task_run_name="annotate-{recipe.recipe_id}-{number}",
    tags=["annotate"],
    retries=1,
    retry_delay_seconds=5,
    retry_condition_fn=lambda _task, _run, state: _may_pass_by_itself(state),
)
def annotate_shard(
    number: int,
    stored: "StoredPairs",
    settings: Settings,
    recipe: RecipeReference,
    queue: "RayAnnotationQueue",
    endpoint: Endpoint | None,
) -> int:
    """Judge the pairs of a shard on a worker, several at once; return how many failed.

    Raises:
        ModelRefusedError: The key, the model's name or the request is wrong.
        BudgetExhaustedError: What may be spent on the model is spent.
        ModelUnavailableError: So many pairs failed in a row that the rest would only fail too.
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
    """Judge pairs on the worker's own event loop, see `judge_all`.

    The task's own body is sent to workers as code, with copies of the globals that it names; this
    function is imported there, so that its loop is the same for all shards of a process.
    """
    return _worker_loop.run(judge_all(pairs, settings, recipe, sink, endpoint))


def _may_pass_by_itself(state: object) -> bool:
    """Return whether another try could help: a lost worker yes, a wrong key or a dead model no."""
    error = getattr(getattr(state, "data", None), "exception", None)
    return not isinstance(error, LanguageModelError)


async def judge_all(
    pairs: Sequence[Pair],
    settings: Settings,
    recipe: RecipeReference,
    sink: AnnotationSink,
    endpoint: Endpoint | None,
) -> int:
    """Judge pairs, several at once, and send each annotation off; return how many failed.

    Raises:
        ModelRefusedError: The key, the model's name or the request is wrong.
        ModelUnavailableError: So many pairs failed in a row that the rest would only fail too.
        BudgetExhaustedError: What may be spent on the model is spent.
    """
    sandbox = make_sandbox(settings.sandbox)
    committee = build_committee(settings, recipe.recipe_id, sandbox, endpoint)
    counter = _FailureCounter(settings.annotation.stop_after_failures)
    queue = iter(pairs)
    spent: list[BudgetExhaustedError] = []

    async def work() -> None:
        for pair in queue:
            try:
                annotation = await _annotation_of(pair, committee, recipe)
            except BudgetExhaustedError as error:  # lets requests that are paid come to their end
                spent.append(error)
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
    if spent:
        raise spent[0]
    return counter.failed


async def _annotation_of(pair: Pair, committee: Committee, recipe: RecipeReference) -> Annotation:
    """Return the committee's annotation; an error that nobody expected makes the pair failed.

    Raises:
        LanguageModelError: The model refuses every request, or what may be spent is spent.
    """
    try:
        return await committee.judge(pair)
    except LanguageModelError:
        raise
    except Exception as error:  # noqa: BLE001 - one pair must not cost the others
        run_logger(__name__).exception("query %s, code %s could not be judged", *pair.key)
        return Annotation(
            query_id=pair.query.query_id,
            code_id=pair.code.code_id,
            recipe_id=recipe.recipe_id,
            demo=recipe.demo,
            status="failed",
            path=AnnotationPath.INTERNAL_ERROR,
            reason=_described(error),
        )


def _described(error: Exception) -> str:
    """Return type and message of an exception as text that any file and database takes."""
    text = traceback.format_exception_only(error)[-1].strip()
    return text[:_REASON_CHARACTERS].encode(errors="backslashreplace").decode()


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
