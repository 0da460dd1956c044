# Writes wherever it can, and finds nowhere but the two small memory file systems.
import os

writable = set()
for folder, names, _ in os.walk("/"):
    if folder == "/":
        names[:] = [name for name in names if name not in ("proc", "sys")]
    if os.access(folder, os.W_OK):
        try:
            with open(os.path.join(folder, "written"), "wb") as file:
                file.write(b"x")
            writable.add("/".join(folder.split("/")[:3]))
        except OSError:
            pass
assert writable <= {"/tmp", "/dev/shm", "/dev/mqueue"}, writable
