"""Functions to call, in threads, once a signal has come that ends this process seconds later."""

from collections.abc import Callable

when_stopped: list[Callable[[], object]] = []
