# Changes how the interpreter ends.
import atexit
import os

atexit.register(os._exit, 0)
assert False
