# Leaves from a thread while the program still runs.
import os
import threading
import time

threading.Timer(0.05, os._exit, (0,)).start()
time.sleep(1)
assert False
