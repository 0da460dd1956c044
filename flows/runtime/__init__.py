"""Support for flows.

``prefect_server`` is the configured Prefect server or a private one. ``runs`` is what all flows
share, ``writing`` the lock under which they write, ``approval`` how people approve what they do.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prefect import State

# Functions to call, in threads, once a signal has come that ends this process seconds later.
when_stopped: list[Callable[[], object]] = []


def flow_state(name: str, **arguments: object) -> "State[Any]":
    """Return the final state of a flow by name, as `prefect_server.flow_state`.

    Prefect is imported with it, which a command that has nothing to do never calls.
    """
    from flows.runtime import prefect_server  # noqa: PLC0415 - takes as long as all else

    return prefect_server.flow_state(name, **arguments)
