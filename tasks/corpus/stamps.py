"""Stamps of inputs: equal as long as reading a source again would give the same.

A collection's fingerprint holds names, sizes and times of the input files. A stamp holds more of
what `read` depends on, so that a stored collection need not be read again: each file's number and
time of change on its file system, which no program can set, all settings of the source, the program
text of sources and filters, and the versions of the interpreter and the libraries that judge texts.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from infra.errors import SourceError
from infra.identity import mark, mark_of
from infra.program import program_digest
from tasks.corpus.composed import Readable
from tasks.files.text import printable

_READERS = (
    *("tasks.sources", "tasks.corpus", "tasks.filters", "tasks.files", "infra.languages"),
    *("infra.collected", "infra.executions", "infra.identity", "infra.records"),
)
_LIBRARIES = ("cosqa-plus", "magika")
# A file system's clock ticks some hundred times a second, or once in two seconds: only a change
# that comes a tick later than the last one is sure to have another time.
_TICK_NS, _COARSE_TICK_NS = 20_000_000, 2_000_000_000


def stamp_of(source: Readable, settings: object) -> str:
    """Return a digest that differs from an earlier one whenever `read` may give something else.

    It waits until the clock of the files' system has ticked since the last change of one of them,
    mostly not at all: so a file that is changed after this has another time, however soon.

    Args:
        source: What is to be read; of one without ``inputs`` its fingerprint alone shows changes.
        settings: All settings of the source, as JSON knows them.

    Raises:
        SourceError: An input file is missing.
    """
    files = sorted(getattr(source, "inputs", tuple)())
    states = _states(files)
    if _wait_for_tick([state.st_ctime_ns for state in states]):
        states = _states(files)
    seen = [
        [printable(file), state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
        for file, state in zip(files, states, strict=True)
    ]
    return mark(source.fingerprint(), mark_of(seen), mark_of(settings), _program())


def _states(files: Sequence[Path]) -> list[os.stat_result]:
    try:
        return [file.stat() for file in files]
    except OSError as error:
        raise SourceError(f"{printable(error.filename)} cannot be read: {error.strerror}") from None


def _wait_for_tick(changed_ns: Sequence[int]) -> bool:
    """Wait until the newest change is a tick ago; return whether that took time."""
    newest = max(changed_ns, default=0)
    tick = _TICK_NS if newest % 1_000_000_000 else _COARSE_TICK_NS
    left = newest + tick - time.time_ns()
    if not 0 < left <= tick:  # long ago; or in the future, by another machine's clock
        return False
    time.sleep(left / 1e9)
    return True


def _program() -> str:
    """Return a digest of the program text and the versions that decide what is read."""
    return program_digest(_READERS, _LIBRARIES)
