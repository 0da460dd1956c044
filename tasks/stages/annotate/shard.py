"""One shard of pairs, judged on a Ray worker."""

import asyncio
from collections.abc import Sequence

from prefect import task
from prefect.logging import get_run_logger

from agents import Endpoint, build_committee
from infra.errors import BudgetExhaustedError, LanguageModelError, ModelUnavailableError
from infra.records import Annotation, Pair
from infra.settings import Settings
from sandbox.backends import make_sandbox
from tasks.runtime.mailbox import Outbox, Recipient

_worker_loop = asyncio.Runner()  # one loop for the life of a worker's process


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
    committee = build_committee(settings, recipe_id, sandbox, endpoint)
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
