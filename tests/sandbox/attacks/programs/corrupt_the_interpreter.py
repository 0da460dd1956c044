# Breaks the interpreter's own objects.
import ctypes

for address in range(id(None), id(None) + 4096, 8):
    ctypes.c_size_t.from_address(address).value = 0x41414141
assert True
