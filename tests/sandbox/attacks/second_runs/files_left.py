# Leaves files, folders, links and pipes of all names, some of which it may not open.
import os

for top in ("/tmp", "/dev/shm"):
    os.makedirs(f"{top}/a/b/c")
    os.symlink("/", f"{top}/a/link")
    os.mkfifo(f"{top}/a/pipe")
    open(f"{top}/\udcff\n", "w").close()
    os.chmod(f"{top}/a/b", 0)
# The second run.
import os

assert os.listdir("/tmp") == os.listdir("/dev/shm") == []
