# Prints a gigabyte.
line = "x" * 1023
for _ in range(2**20):
    print(line)
