# Lets the guard's thread wait for its turn as long as it can.
import sys
import threading


def busy():
    while True:
        sorted(range(10**5))


sys.setswitchinterval(10)
for _ in range(3):
    threading.Thread(target=busy, daemon=True).start()
assert False
