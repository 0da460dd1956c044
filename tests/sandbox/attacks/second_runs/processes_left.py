# Leaves processes that have left their session, ignore signals and wait.
import os
import signal
import time

for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in signal.valid_signals() - {9, 19}:
                signal.signal(number, signal.SIG_IGN)
            while True:
                time.sleep(1)
        os._exit(0)
# The second run.
import os

assert {int(name) for name in os.listdir("/proc") if name.isdigit()} == {1, os.getpid()}
