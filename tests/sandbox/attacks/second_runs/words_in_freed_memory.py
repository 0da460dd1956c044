# Prints a word, for which the next program looks in memory that the runner has freed.
import sys

print("-" * 100, 1234567 * 7654321)
print("-" * 400, 1234567 * 7654321, file=sys.stderr)
# The second run.
import ctypes
import os

WORD = str(1234567 * 7654321)[::-1].encode()  # the wrong way round, to be found nowhere else
PAGE, AROUND = 4096, 2**25
libc = ctypes.CDLL(None)


def pages():
    output, into = os.pipe()
    middle = id(object()) // PAGE * PAGE
    for address in range(middle - AROUND, middle + AROUND, PAGE):
        if libc.write(into, ctypes.c_void_p(address), PAGE) == PAGE:  # else there is no memory
            yield os.read(output, PAGE)


assert not any(WORD in page[::-1] for page in pages())
