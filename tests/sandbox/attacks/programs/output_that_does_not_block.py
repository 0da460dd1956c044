# Fills its output, which it makes not to block, before it fails.
import os

for number in (1, 2):
    os.set_blocking(number, False)
try:
    while True:
        os.write(1, b"x" * 4096)
except BlockingIOError:
    pass
assert False
