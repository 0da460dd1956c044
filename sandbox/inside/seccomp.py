"""A seccomp filter added to the engine's own, which refuses system calls to a program.

All processes of a box have one user, so the kernel would let a program change the limits and the
priority of the runner, or leave memory behind that belongs to no process. Some calls lead out of
the box where an engine's profile is old: sockets of families that no network namespace holds
(``AF_VSOCK`` reaches the hypervisor), ``io_uring``, ``bpf``. All these fail with "not permitted".
Where the kernel or the processor is unknown, nothing is refused; where the kernel refuses the
filter, no program is run.
"""

import ctypes
import os
import struct
from collections.abc import Callable
from functools import partial

_SET_DUMPABLE, _SET_SECCOMP, _FILTER_MODE = 4, 22, 2
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _NOT_PERMITTED = 0x7FFF0000, 0x00050001
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_CLOSE_RANGE, _UNSHARE = 436, 2  # the same number on all processors
_NO_FILE, _LAST_FILE = 2**31, 2**32 - 1
_X32 = 0x40000000  # the bit of a second table of calls, which some kernels have on x86_64
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK

# Refused: ptrace, setpriority, ioprio_set, mq_open, migrate_pages, move_pages, process_vm_readv,
# process_vm_writev, kcmp, shmget, semget, msgget, pidfd_getfd, process_madvise, add_key,
# request_key, keyctl, bpf, userfaultfd, unshare, setns, io_uring_setup, io_uring_enter,
# io_uring_register.
# Refused for other processes only: sched_setparam, sched_setscheduler, sched_setaffinity,
# sched_setattr, prlimit64.
# Refused for other families than _FAMILIES: socket, socketpair.
_CALLS = {
    "x86_64": (
        0xC000003E,
        (
            101, 141, 251, 240, 256, 279, 310, 311, 312, 29, 64, 68, 438, 440,
            248, 249, 250, 321, 323, 272, 308, 425, 426, 427,
        ),
        (142, 144, 203, 314, 302),
        (41, 53),
    ),
    "aarch64": (
        0xC00000B7,
        (
            117, 140, 30, 180, 238, 239, 270, 271, 272, 194, 190, 186, 438, 440,
            217, 218, 219, 280, 282, 97, 268, 425, 426, 427,
        ),
        (118, 119, 122, 274, 261),
        (198, 199),
    ),
}  # fmt: skip


def instructions(machine: str) -> bytes:
    """Return the filter's BPF program for a processor; empty where it is unknown."""
    if machine not in _CALLS:
        return b""
    architecture, refused, refused_for_others, sockets = _CALLS[machine]
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_IF_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _NOT_PERMITTED),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_IF_ANY_BIT, 0, 1, _X32),
        (_RETURN, 0, 0, _NOT_PERMITTED),
    ]
    for number in refused:
        program += [(_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _NOT_PERMITTED)]
    for number in refused_for_others:
        program += _argument_filter(number, (0,))
    for number in sockets:
        program += _argument_filter(number, _FAMILIES)
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def _argument_filter(number: int, values: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """Return the instructions that allow a call with these first arguments alone."""
    return [
        (_JUMP_IF_EQUAL, 0, len(values) + 3, number),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        *((_JUMP_IF_EQUAL, len(values) - place, 0, value) for place, value in enumerate(values)),
        (_RETURN, 0, 0, _NOT_PERMITTED),
        (_RETURN, 0, 0, _ALLOW),
    ]


def restrict_system_calls() -> None:
    """Put the filter on the calling process and all that it will start.

    Raises:
        OSError: The kernel refused the filter.
    """
    code = instructions(os.uname().machine)
    if not code:
        return
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HP", len(code) // 8, ctypes.addressof(buffer))
    call_prctl(_SET_SECCOMP, _FILTER_MODE, program, 0, 0)


def file_unsharer() -> Callable[[], int]:
    """Return a call that gives its thread a table of files of its own; it returns 0 if it could."""
    call = ctypes.CDLL(None).syscall
    call.argtypes = [ctypes.c_long, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint]
    return partial(call, _CLOSE_RANGE, _NO_FILE, _LAST_FILE, _UNSHARE)


def hide_process() -> None:
    """Hide this process's memory and files from all others, its own children included.

    Raises:
        OSError: The kernel refused it.
    """
    call_prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def call_prctl(*arguments: int | bytes) -> None:
    """Call prctl(2).

    Raises:
        OSError: It failed.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({arguments[0]!r}) failed")
