# Floods stderr, past Python's own buffers.
import os

while True:
    os.write(2, b"x" * 4096)
