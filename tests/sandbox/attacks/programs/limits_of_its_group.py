# Widens its own limits where the kernel keeps them.
import glob

found = glob.glob("/sys/fs/cgroup/**/*max*", recursive=True) + ["/sys/fs/cgroup/cgroup.procs"]
for place in [*found, "/sys/fs/cgroup/memory/memory.limit_in_bytes"]:
    try:
        open(place, "r+b", 0).write(b"max")
    except OSError:
        continue
    raise AssertionError(place)
