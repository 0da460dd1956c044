"""The trusted side of a child process, which prepares a job and protects its report.

Program and guard share an interpreter. These measures keep the program from reporting in its place:

- The guard's thread has a table of files of its own, in which alone the report's socket is open.
  The kernel opens no socket again by ``/proc`` and hands out no file of another thread, since the
  calls for that are refused.
- No frame of the program leads to the guard's, and the interpreter's calls that would (tracing, all
  threads' frames, all objects) are refused by an audit hook, which cannot be taken off.
- "Passed" is no message that could be forged, neither of a test nor of the whole: the guard holds
  the frame in which both are run and reads from it which line was reached.

This makes forging a report harder, not impossible: see "Verdicts about code that attacks its
tests" in `sandbox`. Nothing here lets a program leave the box, reach another box or report in the
runner's place.
"""

from __future__ import annotations

import _queue
import _thread
import gc
import itertools
import os
import random
import resource
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FrameType

from sandbox.inside.clock import set_clock
from sandbox.inside.collection import definitions_in
from sandbox.inside.failures import PROGRAM
from sandbox.inside.proxy import proxy_loader
from sandbox.inside.run_tests import (
    Importer,
    NumpySeeder,
    audit_hook,
    imports_numpy,
    loader,
    program_runner,
    run_tests,
)
from sandbox.inside.seccomp import file_unsharer, hide_process, restrict_system_calls

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from typing import Any

    from sandbox.inside import Job

    Counts = tuple[Callable[[], int], Callable[[], int], Callable[[], int]]
    Reports = tuple[list[bytes], list[bytes]]  # of the error that counts, and of each test
    Places = tuple[frozenset[int], ...]

REPORT = 3
CASES = 100  # tests whose outcomes are reported
FAILED = b"!"  # written before the error of a program that did not pass
_PACKAGES = ("/packages", "/opt/packages")  # a box's own, then the image's
_NO_OWN_FILES = b"boxes need close_range(2), which Linux has since 5.9\n"
_SPARE_MEMORY = 16 * 2**20


def prepare(job: Job) -> Callable[[], None]:
    """Return the call that runs the program of an instrumented job; it never returns.

    To be called in a fresh process whose file descriptor 3 is the report's socket, and its result
    from a frame that holds nothing.
    """
    hide_process()
    random.seed(job["hash_seed"])
    sys.path.extend(package_folders(job))
    sys.argv = [PROGRAM]
    entered: dict[str, None] = {}
    asserts, calls = itertools.count(), itertools.count()
    run_program = _program_runner(job, entered, asserts.__next__, calls.__next__)
    set_clock(job["clock"])
    soft, hard = job["memory"], job["memory"] + _SPARE_MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    raise_memory_limit = partial(resource.setrlimit, resource.RLIMIT_DATA, (hard, hard))
    reports: Reports = ([], [])
    # One signal too many is no error, as it would be of a lock.
    signals: _queue.SimpleQueue[None] = _queue.SimpleQueue()
    replies: _queue.SimpleQueue[None] = _queue.SimpleQueue()
    counts = (entered.__len__, asserts.__next__, calls.__next__)
    start_guard = partial(_start_guard, counts, reports, (signals.get, replies.put))
    return partial(
        run_tests,
        run_program,
        raise_memory_limit,
        [start_guard],
        reports,
        signals.put,
        replies.get,
    )


def package_folders(job: Job) -> tuple[str, ...]:
    """Return the folders of packages that a job's program may import."""
    return _PACKAGES[:1] if job["bare"] else _PACKAGES


def _program_runner(
    job: Job,
    entered: dict[str, None],
    count_assert: Callable[[], int],
    count_call: Callable[[], int],
) -> Callable[[], Iterator[tuple[bytes, Callable[[], object]]]]:
    called, asserted, noticed, failed, held = job["names"]
    failures: list[str] = []
    target, program = job["texts"]
    if job["isolated"]:
        on_copies = job["isolated"] == "on_copies"
        load = proxy_loader(program, target, count_call, job["shared"], on_copies=on_copies)
    else:
        load = loader(job["code"], {called: count_call})
    sys.meta_path[:0] = [Importer(target, load), NumpySeeder(job["hash_seed"])]
    names = {asserted: count_assert, noticed: entered.setdefault}
    names |= {failed: failures.append, held: failures.pop}
    definitions = definitions_in(job["program"], job["tests"])
    load_program, needs_numpy = loader(job["program"], names), imports_numpy(f"{target}\n{program}")
    return program_runner(program, load_program, definitions, failures, needs_numpy=needs_numpy)


def places(code: CodeType) -> Places:
    """Return the lines at which ``run_tests`` waits after each end.

    A test failed, passed; the program failed, passed: two lines each, where the guard is
    woken and where it is waited for.
    """
    lines = sorted({line for *_, line in code.co_lines() if line is not None})
    ends = (-13, -10, -2, len(lines))
    return tuple(frozenset(lines[end - 2 : end]) for end in ends)


def _start_guard(
    counts: Counts,
    reports: Reports,
    signals: tuple[Callable[[], None], Callable[[None], None]],
    frame: FrameType,
) -> None:
    """Start the guard over a frame of ``run_tests``, and close the ways that lead to it."""
    tools = (os.write, os._exit, gc.disable, type, bytes, len, CASES, REPORT, FAILED)
    has_own_files = _thread.allocate_lock()
    has_own_files.acquire()
    start = (file_unsharer(), has_own_files.release, _NO_OWN_FILES)
    arguments = (start, counts, reports, signals, frame, (places(run_tests.__code__), *tools))
    identity = _thread.start_new_thread(_guard, arguments)
    has_own_files.acquire()
    os.close(REPORT)
    restrict_system_calls()
    gc.freeze()
    for name in [name for name in sys.modules if name.partition(".")[0] == "sandbox"]:
        del sys.modules[name]
    sys.addaudithook(audit_hook(identity, _thread.get_ident))


def _guard(
    start: tuple[Callable[[], int], Callable[[], None], bytes],
    counts: Counts,
    reports: Reports,
    signals: tuple[Callable[[], None], Callable[[None], None]],
    frame: FrameType,
    tools: tuple[Any, ...],
) -> None:
    """Note each test's outcome; at the end report, and end the process with all that runs in it.

    The report's size comes first, so that half of one is none.

    Everything here is a local name and of the interpreter's own making: what has a class, a
    dictionary or a global name can be reached by the program and made to say something else.
    """
    (test_failed, test_passed, failed, passed), *others = tools
    write, leave, stop_collecting, kind, text, size, most, report, mark = others
    wait_for_signal, go_on = signals
    unshare_files, tell_start, complaint = start
    if unshare_files() != 0:
        write(2, complaint)
        leave(1)
    tell_start()
    outcomes = b""
    while frame.f_lineno not in failed and frame.f_lineno not in passed:
        wait_for_signal()
        if frame.f_lineno in test_failed or frame.f_lineno in test_passed:
            outcomes += b"-" if frame.f_lineno in test_failed else b"+"
            go_on(None)
    stop_collecting()
    tests, asserts, calls = counts
    data = b"%d %d %d =%b\n" % (tests(), asserts(), calls(), outcomes[:most])
    (error,), cases = reports
    parts = [error, *cases[:most]] if frame.f_lineno in failed else cases[:most]
    data += mark if frame.f_lineno in failed else b""
    for part in parts:
        if kind(part) is not text or size(cases) != size(outcomes):
            leave(1)
        data += part + b"\0"
    data = b"%d\n%b" % (size(data), data)
    while data:
        data = data[write(report, data) :]
    leave(0)
