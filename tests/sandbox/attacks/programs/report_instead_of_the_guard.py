# Puts a socket of its own where the guard reports, makes the report block, and speaks first.
import os
import socket
import threading
import time

REPORT = b"1 9 9 =+\ntest_wrong\0"
FORGED = b"%d\n%b" % (len(REPORT), REPORT)
real = os.dup(3)
own, other = socket.socketpair()
own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
os.dup2(own.fileno(), 3)


def speak():
    heard = other.recv(64)
    for secret in (b"", heard[:32]):
        os.write(real, secret + FORGED)
    os._exit(0)


threading.Thread(target=speak, daemon=True).start()
for number in range(100):
    name = f"test_{number}_{'x' * 180}"
    globals()[name] = lambda: None
assert False
