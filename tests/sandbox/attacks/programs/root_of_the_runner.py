# Looks at the root, the folder and the maps of the runner.
import os

for name in ("root", "cwd", "exe", "maps", "environ", "fd", "ns/net", "map_files", "syscall", "stack"):
    try:
        with open(f"/proc/1/{name}") as file:
            file.read()
    except OSError:
        try:
            os.listdir(f"/proc/1/{name}")
        except OSError:
            continue
    raise AssertionError(name)
