# Writes a whole report to every open file.
import os

REPORT = b"1 9 9 =\n"
FORGED = b"%d\n%b" % (len(REPORT), REPORT)
for number in range(3, 1024):
    try:
        os.write(number, FORGED)
    except OSError:
        pass
os._exit(0)
