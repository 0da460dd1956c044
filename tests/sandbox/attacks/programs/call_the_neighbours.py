# Sends to all nodes of the link.
import socket

for family, address in ((socket.AF_INET, ("224.0.0.1", 9)), (socket.AF_INET6, ("ff02::1", 9))):
    sender = socket.socket(family, socket.SOCK_DGRAM)
    try:
        sender.sendto(b"anybody?", address)
    except OSError:
        continue
    with open("/proc/net/dev") as file:
        assert [line.split(":")[0].strip() for line in file.readlines()[2:]] == ["lo"]
