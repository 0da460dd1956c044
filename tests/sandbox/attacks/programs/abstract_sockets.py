# Looks for sockets of the host that have no file.
with open("/proc/net/unix") as file:
    assert file.read().count("\n") <= 1
