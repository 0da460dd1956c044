# Calls Docker's engine.
import socket

socket.socket(socket.AF_UNIX).connect("/var/run/docker.sock")
