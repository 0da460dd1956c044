# Uses up the memory of the box by many processes, and leaves a file.
import os

open("/tmp/left", "w").close()
for _ in range(20):
    if os.fork() == 0:
        break
held = [bytearray(2**20) for _ in range(10**4)]
# The second run.
import os

assert os.listdir("/tmp") == []
