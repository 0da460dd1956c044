# Traces the runner.
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
assert libc.ptrace(16, 1, None, None) == -1
assert libc.ptrace(0x4206, 1, None, None) == -1
