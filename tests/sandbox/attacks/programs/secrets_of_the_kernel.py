# Reads what would tell a program about the host's memory.
for path in ("/proc/kcore", "/dev/mem", "/dev/kmsg", "/proc/keys", "/dev/port"):
    try:
        with open(path, "rb") as file:
            data = file.read(64)
    except OSError:
        continue
    assert not data, path
