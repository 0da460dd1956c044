# Signals the runner by a file of its process, and waits for it.
import os
import signal

runner = os.pidfd_open(1)
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
    try:
        signal.pidfd_send_signal(runner, number)
    except (OSError, ProcessLookupError):
        pass
