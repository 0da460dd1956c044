# Takes the signals for which the guard waits, so that it is never woken, before it fails.
import threading
import sys

frame = sys._getframe()
while "case_reports" not in frame.f_locals:
    frame = frame.f_back
signals = frame.f_locals["signal_guard"].__self__


def hold():
    while True:
        signals.get()


threading.Thread(target=hold, daemon=True).start()


def test_wrong():
    assert False
