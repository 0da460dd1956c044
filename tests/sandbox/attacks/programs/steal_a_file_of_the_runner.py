# Takes over the runner's open files.
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
runner = os.pidfd_open(1)
for number in range(8):
    assert libc.syscall(438, runner, number, 0) == -1
