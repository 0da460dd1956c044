# Wakes the guard at moments when nothing has happened, before it fails.
import threading
import sys

frame = sys._getframe()
while "case_reports" not in frame.f_locals:
    frame = frame.f_back
wake = frame.f_locals["signal_guard"]


def flood():
    while True:
        wake(None)


threading.Thread(target=flood, daemon=True).start()
sys.setswitchinterval(1e-6)
assert False
