# Leaves shared memory and temporary files as full as they can be, and dies.
import os

for top in ("/tmp", "/dev/shm"):
    try:
        for number in range(10**6):
            with open(f"{top}/{number}", "wb") as file:
                file.write(bytes(4096))
    except OSError:
        continue
os.kill(os.getpid(), 9)
# The second run.
for top in ("/tmp", "/dev/shm"):
    with open(f"{top}/file", "wb") as file:
        file.write(bytes(2**22))
