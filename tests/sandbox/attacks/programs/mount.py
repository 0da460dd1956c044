# Mounts and unmounts.
import ctypes
import errno

libc = ctypes.CDLL(None, use_errno=True)
assert libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None) == -1
assert ctypes.get_errno() == errno.EPERM
assert libc.umount2(b"/proc", 2) == -1
assert libc.mount(b"", b"/", b"", 32, None) == -1
