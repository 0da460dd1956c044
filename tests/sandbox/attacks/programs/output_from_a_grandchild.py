# Lets a process outside its session do the flooding.
import os
import time

if os.fork() == 0:
    os.setsid()
    while True:
        os.write(1, b"x" * 4096)
time.sleep(60)
