# Opens its own memory, by which it could change what the guard has noted.
import os

for place in ("self", "thread-self", *(f"self/task/{name}" for name in os.listdir("/proc/self/task"))):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try:
            os.open(f"/proc/{place}/mem", flags)
        except PermissionError:
            continue
        raise AssertionError(place)
