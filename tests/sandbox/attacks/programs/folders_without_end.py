# Leaves a folder so deep that no path reaches its bottom, and one that nobody may enter.
import os

os.mkdir("/tmp/closed")
open("/tmp/closed/file", "w").close()
os.chmod("/tmp/closed", 0)
os.chdir("/tmp")
try:
    for _ in range(3000):
        os.mkdir("d")
        os.chdir("d")
except OSError:
    pass
assert True
