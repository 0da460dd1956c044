"""Prefect flows, a file for one or for a few of one subject, and what commands and forms ask.

A flow calls the stages in order. Which file has it, `flows.runtime.runs.flow_of` knows.
"""

from collections.abc import Callable

# Called in threads once a signal has come that ends this process seconds later.
when_stopped: list[Callable[[], object]] = []
