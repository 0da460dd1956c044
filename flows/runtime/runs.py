"""Shared by all flows: their parameters, their runs' names and ends, and the lock to write under.

Names appear in the Prefect UI: sentences that say what a run does. Prefect draws its arrows from
``wait_for``. So the parts of flows hand on, besides their results, the steps that the next part
follows: states and futures of stages.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from prefect import Flow
from prefect.context import FlowRunContext
from prefect.futures import PrefectFuture
from prefect.runtime import deployment, flow_run
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner
from pydantic import BeforeValidator

from infra.errors import BudgetExhaustedError, CosqaError, RunBudgetError
from infra.settings import Settings, StoreSettings
from tasks.runtime.caching import Steps
from tasks.runtime.progress import stop_stages

__all__ = [
    "SIDE_BY_SIDE", "FlowSettings", "Steps", "ends_by_budget", "flow_of", "name_by",
    "results_of", "run_name", "subject_of", "writing",
]  # fmt: skip

T = TypeVar("T")

# As many at once as there are cores, and four at most: each may take the memory that a search has.
SIDE_BY_SIDE = cast(
    "TaskRunner[PrefectFuture[Any]]", ThreadPoolTaskRunner(max_workers=min(4, os.cpu_count() or 1))
)
# The modules of flows that share one; any other flow is in the module of its name.
_MODULES = {
    "compare_annotators": "study",
    "diff": "leaderboard",
    "generate": "annotate",
    "neural_code_search": "challenge",
    "repair": "annotate",
    "study_kape": "study",
    "study_training": "train",
}
_LONGEST = 200
# A run before this one may still be ending, by itself or by its worker.
_GRACE_S = 60.0
# Ids of the flow runs of this process that have held a lock.
_have_written: set[str] = set()
_SUBJECTS = (
    "collection", "benchmark", "before", "truth", "data", "questions", "queries", "codes", "preset",
)  # fmt: skip


def _refuse_key(value: object) -> object:
    """Raise if a flow's parameter has a key in it, which Prefect's database would store."""
    for name in ("llm", "encoder"):
        section = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(section, Mapping) and "api_key" in section:
            raise ValueError(
                f"{name}.api_key cannot be a parameter, since Prefect stores parameters: set "
                f"COSQA_{name.upper()}__API_KEY where the flow runs, or name a Prefect Secret "
                f"block by {name}.api_key_block"
            )
    return value


# The settings parameter of a flow; missing values are read from file and environment.
FlowSettings = Annotated[Settings | None, BeforeValidator(_refuse_key)]


def flow_of(name: str) -> Flow[..., Any]:
    """Return the flow of a name, as a function has it; its module is imported."""
    module = import_module(f"flows.{_MODULES.get(name, name)}")
    flow: Flow[..., Any] = getattr(module, name)
    return flow


def run_name() -> str:
    """Return flow, subject and time of a run: ``annotate python-source, 21 Nov 09:30``."""
    return name_by(flow_run.parameters)


def name_by(parameters: Mapping[str, object]) -> str:
    """Return the name of this run, which has these parameters."""
    started = flow_run.scheduled_start_time.astimezone()
    subject = subject_of(parameters)[:_LONGEST]
    return f"{flow_run.flow_name} {subject}".rstrip() + f", {started:%d %b %H:%M}"


def subject_of(parameters: Mapping[str, object]) -> str:
    """Return a run's subject, by its flow's parameters or the answers of a form."""
    settings = parameters.get("settings")
    source = settings.source.title if isinstance(settings, Settings) else parameters.get("source")
    found: object = next(filter(None, map(parameters.get, _SUBJECTS)), source)
    if isinstance(found, list | dict):
        return "+".join(map(str, found))
    return found.name if isinstance(found, Path) else str(found or "")


def results_of(futures: Sequence[PrefectFuture[T]]) -> list[T]:
    """Return the results of stages that run side by side.

    An error of one is raised once the others have ended; an interrupt ends them all.
    """
    try:
        for future in futures:
            future.wait()
    except BaseException:
        stop_stages()
        raise
    return [future.result() for future in futures]


def ends_by_budget(error: CosqaError, judged: int = 0) -> bool:
    """Return True if an error is a spent budget that ends a run's judging, and is no failure.

    The run's own budget is; that of all runs where pairs were judged before.
    """
    return isinstance(error, BudgetExhaustedError if judged else RunBudgetError)


@contextmanager
def writing(store: StoreSettings) -> Iterator[None]:
    """Hold the writer's lock of the store inside the ``with``, under the name of this flow run.

    Where another run holds it, a command is refused at once, a deployment's run after a minute. A
    run that was resumed, as by a person who approved its plan, waits until that run ends; so does
    one that has held the lock before, since it is no run that has done nothing. It is not held
    while a run waits for approval, nor taken twice by one run.

    Raises:
        StoreBusyError: Another run holds it; the message names the run.
    """
    from infra.store.database_file import writer_lock  # noqa: PLC0415 - imports DuckDB

    own = flow_run.get_id()
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    was_resumed = bool(run and run.empirical_policy.pause_keys)
    patience_s = _GRACE_S if deployment.get_id() else 0.0
    if own in _have_written or was_resumed:
        patience_s = math.inf
    with writer_lock(store, flow_run.get_name() or "a run without a name", patience_s):
        if own:
            _have_written.add(own)
        yield
