"""The lease under which a flow writes labels into the store."""

import math
from contextlib import AbstractContextManager

from prefect.logging import get_run_logger
from prefect.runtime import deployment, flow_run

from flows.runtime.run_inputs import was_answered
from infra.settings import StoreSettings
from infra.store.lease import lease_holder, writer_lease

# A run before this one may still be ending, by itself or by its worker.
_GRACE_S = 60.0


def writing(store: StoreSettings) -> AbstractContextManager[None]:
    """Hold the store's lease inside the ``with``, under the name of this flow run.

    Where another run holds it, a command is refused at once, a deployment's run after a minute. A
    run that a person has approved waits until that run ends, since nobody would approve it twice.
    It is not held while a run waits for approval, nor taken twice by one run.

    Raises:
        StoreBusyError: Another run holds it; the message names the run.
    """
    patience_s = _GRACE_S if deployment.get_id() else 0.0
    if was_answered():
        patience_s = math.inf
        if holder := lease_holder(store):
            get_run_logger().info(
                "waits until the store is free: it is being written by %s", holder
            )
    return writer_lease(store, flow_run.get_name() or "a run without a name", patience_s)
