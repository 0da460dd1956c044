"""Support for flows.

``prefect_server`` is the configured Prefect server or a private one. ``runs`` is what all flows
share, ``writing`` the lock under which they write, ``approval`` how people approve what they do.
"""

from collections.abc import Callable

# Functions to call, in threads, once a signal has come that ends this process seconds later.
when_stopped: list[Callable[[], object]] = []
