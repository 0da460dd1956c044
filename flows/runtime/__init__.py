"""Support for flows.

``prefect_server`` is the configured Prefect server or a private one. ``runs`` is what all flows
share, ``writing`` the lease under which they write, ``approval`` how people approve what they do.
"""

from collections.abc import Callable

# What is called once a signal has been heard and this process is about to be ended.
last_calls: list[Callable[[], object]] = []
