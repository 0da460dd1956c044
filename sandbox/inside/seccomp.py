"""Narrows what a program may ask of the kernel, beyond the engine's own seccomp profile.

All processes of a box have one user, so the kernel would let a program change the limits and the
priority of the runner, or leave memory behind that belongs to no process. Those calls fail with
"not permitted". Where the kernel or the processor is unknown, nothing is narrowed.
"""

import ctypes
import os
import struct

_SET_SECCOMP, _FILTER_MODE = 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _NOT_PERMITTED = 0x7FFF0000, 0x00050001
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data

# ptrace, setpriority, ioprio_set, mq_open, migrate_pages, move_pages, process_vm_readv,
# process_vm_writev, kcmp, shmget, semget, msgget, pidfd_getfd, process_madvise
# Then those refused for other processes only: sched_setparam, sched_setscheduler,
# sched_setaffinity, sched_setattr, prlimit64.
_CALLS = {
    "x86_64": (
        0xC000003E,
        (101, 141, 251, 240, 256, 279, 310, 311, 312, 29, 64, 68, 438, 440),
        (142, 144, 203, 314, 302),
    ),
    "aarch64": (
        0xC00000B7,
        (117, 140, 30, 180, 238, 239, 270, 271, 272, 194, 190, 186, 438, 440),
        (118, 119, 122, 274, 261),
    ),
}


def instructions(machine: str) -> bytes:
    """Return the filter's BPF program for a processor; empty where it is unknown."""
    if machine not in _CALLS:
        return b""
    architecture, refused, refused_for_others = _CALLS[machine]
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_IF_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _NOT_PERMITTED),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for number in refused:
        program += [(_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _NOT_PERMITTED)]
    for number in refused_for_others:
        program += [
            (_JUMP_IF_EQUAL, 0, 4, number),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_JUMP_IF_EQUAL, 0, 1, 0),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _NOT_PERMITTED),
        ]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def narrow() -> None:
    """Put the filter on the calling process and all that it will start."""
    code = instructions(os.uname().machine)
    if not code:
        return
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HP", len(code) // 8, ctypes.addressof(buffer))
    ctypes.CDLL(None).prctl(_SET_SECCOMP, _FILTER_MODE, program, 0, 0)
