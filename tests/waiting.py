"""Waiting for what others do, with a deadline that a loaded machine keeps too."""

import asyncio
import time
from collections.abc import Callable

_POLL_S = 0.1


def until(is_so: Callable[[], object], patience_s: float = 240, awaited: str = "it") -> None:
    """Return when something is so; fail where it is not in so many seconds."""
    deadline = time.monotonic() + patience_s
    while not is_so():
        assert time.monotonic() < deadline, f"{awaited}: not in {patience_s} s"
        time.sleep(_POLL_S)


async def eventually(
    is_so: Callable[[], object], patience_s: float = 240, awaited: str = "it"
) -> None:
    """Return when something is so, while other tasks of the loop go on; fail as `until` does."""
    deadline = time.monotonic() + patience_s
    while not is_so():
        assert time.monotonic() < deadline, f"{awaited}: not in {patience_s} s"
        await asyncio.sleep(_POLL_S)


async def settled() -> None:
    """Let all tasks of the loop go on until each waits for what no task of the loop gives."""
    for _ in range(100):
        await asyncio.sleep(0)
