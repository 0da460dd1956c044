# Adds a filter of system calls that allows all, and takes back what prctl gives.
import ctypes
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
program = struct.pack("HP", 1, ctypes.addressof(allow))
libc.prctl(22, 2, program, 0, 0)
libc.prctl(38, 0, 0, 0, 0)
for number in {"x86_64": (101, 438), "aarch64": (117, 438)}[os.uname().machine]:
    assert libc.syscall(number, 0, 0, 0, 0) == -1
    assert ctypes.get_errno() == 1
