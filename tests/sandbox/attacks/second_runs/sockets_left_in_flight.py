# Leaves what the code returned in sockets that hold each other.
import array
import socket

first, second = socket.socketpair()
named = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
named.bind("\0left")
server = socket.create_server(("127.0.0.1", 4444))
second.send(b"the original returned 4")
for one in (first, second):
    for other in (first, second, named, server):
        files = array.array("i", [other.fileno()])
        one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
# The second run.
import socket

for family, address in ((socket.AF_INET, ("127.0.0.1", 4444)), (socket.AF_UNIX, "\0left")):
    kind = socket.SOCK_DGRAM if family == socket.AF_UNIX else socket.SOCK_STREAM
    try:
        socket.socket(family, kind).connect(address)
    except ConnectionRefusedError:
        continue
    raise AssertionError(address)
