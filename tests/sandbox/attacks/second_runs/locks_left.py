# Leaves locks on files that every program may read.
import fcntl

held = [open(name) for name in ("/etc/passwd", "/usr/bin/env")]
for file in held:
    fcntl.flock(file, fcntl.LOCK_EX)
# The second run.
import fcntl

for name in ("/etc/passwd", "/usr/bin/env"):
    fcntl.flock(open(name), fcntl.LOCK_EX | fcntl.LOCK_NB)
