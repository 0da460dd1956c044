# Takes memory in small pieces until somebody says no.
held = []
while True:
    held.append(bytearray(2**20))
