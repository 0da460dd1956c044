# Fills the writable folder with files, each below the limit of one file.
for number in range(10_000):
    with open(f"/tmp/{number}", "wb") as file:
        file.write(bytes(2**20))
