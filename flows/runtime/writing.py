"""The lock under which a flow writes labels into the store."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

from prefect.context import FlowRunContext
from prefect.runtime import deployment, flow_run

from infra.settings import StoreSettings
from infra.store.database_file import writer_lock

# A run before this one may still be ending, by itself or by its worker.
_GRACE_S = 60.0
# Ids of the flow runs of this process that have held a lock.
_have_written: set[str] = set()


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
