# Gives the loopback interface another address, by the kernel's own protocol.
import socket
import struct

route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
request = struct.pack("BBBBI", 2, 24, 0, 0, 1) + struct.pack("HH4s", 8, 2, bytes([10, 0, 0, 1]))
route.send(struct.pack("IHHII", 16 + len(request), 20, 0x605, 1, 0) + request)
with open("/proc/net/fib_trie") as file:
    assert "10.0.0.1" not in file.read()
