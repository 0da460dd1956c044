# Becomes another user by every call there is.
import os

for call in (os.setuid, os.setgid, os.seteuid, os.setegid):
    try:
        call(0)
    except PermissionError:
        continue
    raise AssertionError(call.__name__)
assert os.getuid() == os.geteuid() != 0
