# Fills the writable folder.
with open("/tmp/full", "wb") as file:
    while True:
        file.write(bytes(2**20))
