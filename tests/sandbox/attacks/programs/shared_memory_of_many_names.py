# Fills shared memory with empty names, whose removal takes the runner's memory.
import os

for number in range(10**6):
    os.close(os.open(f"/dev/shm/{number}", os.O_CREAT))
