"""The judge: a task on a Ray worker that judges pairs from the queue, many at once."""

import asyncio
import math
import socket
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from prefect.logging.handlers import APILogWorker

from agents import Committee, build_committee, journal_ledger
from agents.committee.paths import AnnotationPath
from infra.budget import Budget
from infra.errors import (
    BudgetExhaustedError,
    JudgingError,
    LanguageModelError,
    ModelRefusedError,
    SettingsError,
)
from infra.records import Annotation, Pair
from infra.settings import Settings
from sandbox.backends import make_sandbox
from sandbox.contract.kept import CheckedSandbox
from tasks.runtime.caching import Retries, stage
from tasks.runtime.references import RecipeReference
from tasks.runtime.run_logger import hear_libraries, run_logger
from tasks.stages.annotate.desk import Desk, FailureCounter, PairSource

if TYPE_CHECKING:
    from tasks.runtime.ray_queue import RayPairQueue

ENDS_ALL = (LanguageModelError, SettingsError, JudgingError)
"""Errors that every judge would meet."""

_NEVER_PASSES = (BudgetExhaustedError, ModelRefusedError, SettingsError, JudgingError)
_FIRST_DELAYS_S = (5.0, 60.0)  # before a further try
_DELAY_S = 300.0  # the others
_REASON_CHARACTERS = 500
_SENT_WITHIN_S = 5.0
_LIFETIME_S = 1_800.0  # then another judge takes over, with all of Ray's retries before it

_worker_loop = asyncio.Runner()  # one loop for all judges of a worker's process


@stage(
    "judge",
    "judge {number}, asking {recipe.model}",
    retries=Retries(_FIRST_DELAYS_S, (Exception,), but=_NEVER_PASSES),
)
def judge(
    number: int,
    settings: Settings,
    recipe: RecipeReference,
    budget: Budget,
    queue: "RayPairQueue",
    mark: Path,
) -> int:
    """Judge pairs from the queue on a worker, until none is left or half an hour has passed.

    Started again after an error or the loss of its process, it begins with what it held before.

    Args:
        number: The judge's number.
        settings: The agents, their model, the sandbox and the store's folder.
        recipe: The recipe of these settings.
        budget: What the run may cost.
        queue: Where pairs come from.
        mark: A file in the store's folder, which is there as long as the run lasts.

    Returns:
        How many pairs failed.

    Raises:
        SettingsError: This machine does not see the store's folder.
        ModelRefusedError: The key, the model's name or the request is wrong.
        BudgetExhaustedError: The budget for the model is spent.
        ModelUnavailableError: Too many pairs failed in a row, at every try.
        JudgingError: They failed by an unexpected error.
    """
    if not mark.is_file():
        raise SettingsError(
            f"{socket.gethostname()} does not see the store in {mark.parent}, where all judges "
            "keep replies and budgets: keep the store (--store) on storage that all "
            "machines of the Ray cluster mount under one path, or unset RAY_ADDRESS"
        )
    hear_libraries()
    source = queue.as_judge(number)
    try:
        failed = judge_on_worker(source, settings, recipe, budget)
        run_logger(__name__).info("judge %s has ended; %s pairs failed", number, failed)
    except Exception:
        queue.leave(number)  # others have its pairs until its next try
        raise
    finally:  # the worker may be gone a moment later
        APILogWorker.drain_all(timeout=_SENT_WITHIN_S)
    return failed


def delays_of(patience_s: float) -> list[float]:
    """Return the seconds before each further try of a judge: in all as long, and one at least."""
    delays = list(_FIRST_DELAYS_S) + [_DELAY_S] * math.ceil(patience_s / _DELAY_S)
    while len(delays) > 1 and sum(delays) > patience_s:
        delays.pop()
    return delays


def judge_on_worker(
    source: PairSource, settings: Settings, recipe: RecipeReference, budget: Budget
) -> int:
    """Judge pairs on the worker's event loop, see `judge_all`.

    Ray pickles the task's function by value, with copies of its globals. This function is imported
    on the worker, so that all judges of a process share one event loop.
    """
    return _worker_loop.run(judge_all(source, settings, recipe, _LIFETIME_S, budget))


async def judge_all(
    source: PairSource,
    settings: Settings,
    recipe: RecipeReference,
    lifetime_s: float = math.inf,
    budget: Budget | None = None,
) -> int:
    """Judge pairs from a source, as many at once as it hands out; return how many failed.

    Args:
        source: Hands out pairs and takes annotations.
        settings: The agents, their model and the sandbox.
        recipe: The recipe of these settings.
        lifetime_s: After so many seconds no more pairs are taken.
        budget: What the run may cost; None is no limit of its own.

    Raises:
        ModelRefusedError: The key, the model's name or the request is wrong.
        ModelUnavailableError: Too many pairs failed in a row.
        BudgetExhaustedError: The budget for the model is spent.
    """
    sandbox = CheckedSandbox(make_sandbox(settings.sandbox), settings.sandbox)
    ledger = journal_ledger(settings.store, settings.llm, budget)
    committee = build_committee(settings, recipe.recipe_id, sandbox, recipe.labelling_round, ledger)

    async def annotate(pair: Pair) -> Annotation:
        return await _annotation_of(pair, committee, recipe)

    counter = FailureCounter(settings.annotation.stop_after_failures)
    try:
        ends_at = time.monotonic() + lifetime_s
        return await Desk(annotate, source, counter, ends_at).work(settings.llm.timeout_s)
    finally:
        await committee.close()
        await sandbox.close()


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
            status="failed",
            path=AnnotationPath.INTERNAL_ERROR,
            reason=_error_text(error),
        )


def _error_text(error: Exception) -> str:
    """Return an exception's type and message, shortened, as text that can be stored."""
    text = traceback.format_exception_only(error)[-1].strip()
    return text[:_REASON_CHARACTERS].encode(errors="backslashreplace").decode()
