"""Ports for servers that are started, or started again, some time after."""

import random
import socket
from contextlib import suppress

_BELOW_THOSE_OF_THE_KERNEL = range(20_000, 32_000)


def free_port() -> int:
    """Return a port that nobody listens on and that the kernel gives to nobody by itself.

    It is drawn by the system's chance: tests that run side by side have the same seed.
    """
    for port in random.SystemRandom().sample(_BELOW_THOSE_OF_THE_KERNEL, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port")
