"""The trusted side of a child process, which prepares a job and protects its report.

Program and guard share an interpreter. What keeps the program from reporting in the guard's place:

- The secret that a report must carry is known to the guard's own thread alone. No frame of the
  program leads there, and the interpreter's calls that would (tracing, all threads' frames, all
  objects) are refused by an audit hook, which cannot be taken off.
- "Passed" is no message that could be forged: the guard holds the frame in which the program runs
  and reads from it which line was reached.

This makes forging a report harder, not impossible: see "Verdicts about code that attacks the
harness" in `sandbox`. Nothing here lets a program leave the box, reach another box or report in the
runner's place.
"""

from __future__ import annotations

import _thread
import gc
import itertools
import os
import random
import resource
import sys
from collections.abc import Callable
from functools import partial
from types import CodeType, FrameType

from sandbox.inside.clock import set_clock
from sandbox.inside.play import (
    PROGRAM,
    Importer,
    audit_hook,
    loader,
    play,
    program_runner,
)
from sandbox.inside.seccomp import call_prctl, restrict_system_calls

TYPE_CHECKING = False  # as of `typing`, which takes longer to import than a job may take
if TYPE_CHECKING:
    from typing import Any

    Job = dict[str, Any]
    Counts = tuple[Callable[[], int], Callable[[], int], Callable[[], int]]

REPORT = 3
FAILED = b"!"  # written before the error of a program that did not pass
PACKAGES = ("/packages", "/opt/packages")  # a box's own, then the image's
_SET_DUMPABLE = 4
_SPARE_MEMORY = 16 * 2**20


def hide_process() -> None:
    """Hide this process's memory and files from all others, its own children included."""
    call_prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def prepare(job: Job) -> Callable[[], None]:
    """Return the call that runs the program of an instrumented job; it never returns.

    To be called in a fresh process whose file descriptor 3 is the report's pipe, and its result
    from a frame that holds nothing.
    """
    hide_process()
    random.seed(job["hash_seed"])
    sys.path.extend(PACKAGES)
    sys.argv = [PROGRAM]
    entered: list[str] = []
    asserts, calls = itertools.count(), itertools.count()
    run_program = _program_runner(job, entered, asserts.__next__, calls.__next__)
    set_clock(job["clock"])
    soft, hard = job["memory"], job["memory"] + _SPARE_MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    raise_memory_limit = partial(resource.setrlimit, resource.RLIMIT_DATA, (hard, hard))
    error_report: list[bytes] = []
    ended, never = _thread.allocate_lock(), _thread.allocate_lock()
    ended.acquire()
    never.acquire()
    counts = (entered.__len__, asserts.__next__, calls.__next__)
    start_guard = partial(
        _start_guard, job.pop("secret").encode(), counts, error_report, ended.acquire
    )
    return partial(
        play,
        run_program,
        raise_memory_limit,
        [start_guard],
        error_report,
        ended.release,
        never.acquire,
    )


def _program_runner(
    job: Job,
    entered: list[str],
    count_assert: Callable[[], int],
    count_call: Callable[[], int],
) -> Callable[[], object]:
    called, asserted, noticed = job["names"]
    target, program = job["texts"]
    seed = job["hash_seed"] if "numpy" in target + program else None
    sys.meta_path.insert(0, Importer(target, loader(job["code"], {called: count_call})))
    names = {asserted: count_assert, noticed: entered.append}
    return program_runner(program, loader(job["program"], names), entered, seed)


def _last_lines(code: CodeType) -> tuple[frozenset[int], frozenset[int]]:
    """Return the lines at which ``play`` has failed and those at which it has passed."""
    lines = sorted({line for *_, line in code.co_lines() if line is not None})
    return frozenset(lines[-4:-2]), frozenset(lines[-2:])


def _start_guard(
    secret: bytes,
    counts: Counts,
    error_report: list[bytes],
    wait_for_end: Callable[[], bool],
    frame: FrameType,
) -> None:
    """Start the guard over a frame of ``play``, and close the ways that lead to it."""
    lines = _last_lines(play.__code__)
    tools = (os.write, os._exit, gc.disable, type, bytes, REPORT, FAILED)
    arguments = (secret, counts, error_report, wait_for_end, frame, (*lines, *tools))
    identity = _thread.start_new_thread(_guard, arguments)
    restrict_system_calls()
    gc.freeze()
    for name in [name for name in sys.modules if name.partition(".")[0] == "sandbox"]:
        del sys.modules[name]
    sys.addaudithook(audit_hook(identity, _thread.get_ident))


def _guard(
    secret: bytes,
    counts: Counts,
    error_report: list[bytes],
    wait_for_end: Callable[[], bool],
    frame: FrameType,
    tools: tuple[Any, ...],
) -> None:
    """Wait for the program's end, report it, and end the process with all that still runs in it.

    Everything here is a local name and of the interpreter's own making: what has a class, a
    dictionary or a global name can be reached by the program and made to say something else.
    """
    failed, passed, write, leave, stop_collecting, kind, text, report, mark = tools
    while frame.f_lineno not in failed and frame.f_lineno not in passed:
        wait_for_end()
    stop_collecting()
    tests, asserts, calls = counts
    data = secret + b"%d %d %d\n" % (tests(), asserts(), calls())
    if frame.f_lineno in failed:
        error = error_report[0]
        if kind(error) is not text:
            leave(1)
        data += mark + error
    while data:
        data = data[write(report, data) :]
    leave(0)
