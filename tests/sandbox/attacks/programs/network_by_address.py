# Calls a public address.
import socket

socket.create_connection(("1.1.1.1", 53), 1)
