# Fills the memory that processes share.
with open("/dev/shm/full", "wb") as file:
    while True:
        file.write(bytes(2**20))
