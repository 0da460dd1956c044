# Lets a child spin on the report to take it away before the runner reads it.
import os

if os.fork() == 0:
    for _ in range(10**5):
        try:
            file = os.open(f"/proc/{os.getppid()}/fd/3", os.O_RDWR)
            os.read(file, 10**6)
        except OSError:
            continue
    os._exit(0)
for _ in range(10**4):
    try:
        os.open("/proc/self/fd/3", os.O_RDONLY)
    except OSError:
        continue
    os._exit(0)
assert False
