# Looks for sockets with names, by which other containers and the host could be reached.
with open("/proc/net/unix") as file:
    assert [line for line in file.read().splitlines()[1:] if len(line.split()) > 7] == []
