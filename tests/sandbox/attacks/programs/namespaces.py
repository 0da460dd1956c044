# Becomes root in a user namespace of its own.
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
for flag in (0x10000000, 0x00020000, 0x40000000, 0x20000000):
    assert libc.unshare(flag) == -1, hex(flag)
