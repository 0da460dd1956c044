"""Support for flows.

``prefect_server`` is the configured Prefect server or a private one. ``runs`` is what all flows
share, ``writing`` the lock under which they write, ``approval`` how people approve what they do.
"""

from collections.abc import Callable

# What is called, in threads, once a signal has been heard that ends this process seconds later.
when_stopped: list[Callable[[], object]] = []
