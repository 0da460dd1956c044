# Asks for a hundred gigabytes in one piece.
held = bytearray(100 * 2**30)
