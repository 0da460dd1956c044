# Forks in mid-program: two processes now run to the end, where one report is awaited.
import os

os.fork()
assert False
