# Opens files until no more are allowed, before it fails.
import os

try:
    while True:
        os.dup(0)
except OSError:
    pass
assert False
