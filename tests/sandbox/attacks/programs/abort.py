# Aborts, as a failed check in C would.
import os

os.abort()
