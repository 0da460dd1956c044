# Leaves connections that linger, with data that nobody reads.
import socket

server = socket.create_server(("127.0.0.1", 4445))
for _ in range(20):
    client = socket.create_connection(("127.0.0.1", 4445))
    served, _ = server.accept()
    client.sendall(b"x" * 10_000)
    served.close()
# The second run.
for table in ("tcp", "tcp6", "udp", "udp6", "raw"):
    with open(f"/proc/net/{table}") as file:
        assert len(file.readlines()) == 1, table
