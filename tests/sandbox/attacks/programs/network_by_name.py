# Looks a name up.
import socket

socket.getaddrinfo("example.org", 443)
