# Waits in a destructor for the moment when the harness lets go of the program.
import os


class Sleeper:
    def __del__(self, leave=os._exit):
        leave(0)


sleeper = Sleeper()
assert False
