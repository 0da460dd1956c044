# Catches MemoryError and goes on asking.
held = []
while True:
    try:
        held.append(bytearray(2**20))
    except MemoryError:
        pass
