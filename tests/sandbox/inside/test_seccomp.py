"""What the filter allows and refuses, by running its instructions."""

import errno
import socket
import struct
import subprocess
import sys

import pytest

from sandbox.base import Box
from sandbox.inside.seccomp import _CALLS, call_prctl, instructions

ALLOW, REFUSE = 0x7FFF0000, 0x00050001


def verdict(machine: str, number: int, first_argument: int = 0, architecture: int = 0) -> int:
    """Return what the filter says to a call, as the kernel's interpreter would."""
    program = [*struct.iter_unpack("HBBI", instructions(machine))]
    data = {0: number, 4: architecture or _CALLS[machine][0], 16: first_argument}
    place, loaded = 0, 0
    while True:
        code, if_true, if_false, value = program[place]
        place += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            loaded = data[value]
        else:
            holds = loaded == value if code == 0x15 else bool(loaded & value)
            place += if_true if holds else if_false


def test_each_call_of_the_table_is_refused_and_others_are_allowed() -> None:
    for machine in _CALLS:
        _, refused, for_others, sockets = _CALLS[machine]
        for number in range(600):
            is_plain = number not in {*refused, *for_others, *sockets}
            assert verdict(machine, number) == (
                REFUSE if number in {*refused, *sockets} else ALLOW
            ), number
            assert is_plain <= (verdict(machine, number, 7) == ALLOW)
        for number in for_others:
            assert [verdict(machine, number, process) for process in (0, 1, 99)] == [
                ALLOW, REFUSE, REFUSE,
            ]  # fmt: skip


def test_sockets_are_of_the_four_usual_families() -> None:
    for machine in _CALLS:
        call = _CALLS[machine][3][0]
        families = {family for family in range(64) if verdict(machine, call, family) == ALLOW}
        assert families == {
            socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK,
        }, machine  # fmt: skip


def test_other_tables_of_calls_are_refused() -> None:
    for machine in _CALLS:
        assert verdict(machine, 1, architecture=0x40000003) == REFUSE
        assert verdict(machine, 0x40000000 | 1) == REFUSE


def test_an_unknown_processor_has_no_filter() -> None:
    assert instructions("riscv64") == b""


def test_a_failing_prctl_is_an_error() -> None:
    with pytest.raises(OSError, match="prctl") as caught:
        call_prctl(99_999, 0, 0, 0, 0)
    assert caught.value.errno == errno.EINVAL


def test_the_kernel_takes_the_filter() -> None:
    program = (
        "from sandbox.inside.seccomp import call_prctl, restrict_system_calls\n"
        "import os, socket\n"
        "call_prctl(38, 1, 0, 0, 0)\n"
        "restrict_system_calls()\n"
        "socket.socketpair()\n"
        "for family in (40, 38, 17):\n"
        "    try:\n        socket.socket(family, 1)\n"
        "    except PermissionError:\n        print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["refused"] * 3


@pytest.mark.docker
@pytest.mark.parametrize(
    "call",
    [
        "socket.socket(40, 1)",  # AF_VSOCK
        "socket.socket(38, 5)",  # AF_ALG
        "syscall({'x86_64': 425, 'aarch64': 425}, 8, buffer)",  # io_uring_setup
        "syscall({'x86_64': 321, 'aarch64': 280}, 0, buffer, 72)",  # bpf
        "syscall({'x86_64': 323, 'aarch64': 282}, 1)",  # userfaultfd
        "syscall({'x86_64': 272, 'aarch64': 97}, 0)",  # unshare
        "syscall({'x86_64': 250, 'aarch64': 219}, 0, -4, 0)",  # keyctl
    ],
)
async def test_a_program_may_not_make_calls_that_lead_out(box: Box, call: str) -> None:
    program = f"""
import ctypes, os, socket
buffer = ctypes.create_string_buffer(256)
def syscall(numbers, *arguments):
    library = ctypes.CDLL(None, use_errno=True)
    if library.syscall(numbers[os.uname().machine], *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")
try:
    {call}
except PermissionError:
    pass
else:
    assert False
"""
    result = await box.run(program)
    assert result.outcome == "passed", result.message
