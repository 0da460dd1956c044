# Closes its output before it fails.
import os

os.close(1)
os.close(2)
assert False
