# Looks a name up.
import socket

socket.getaddrinfo("pypi.org", 443)
