# Leaves memory that belongs to no process.
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
for key in range(1, 200):
    number = libc.shmget(key, 2**20, 0o1600)
    if number < 0:
        break
    address = libc.shmat(number, None, 0)
assert True
