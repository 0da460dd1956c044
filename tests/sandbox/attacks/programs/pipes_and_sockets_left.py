# Leaves what is no file where files are cleaned up.
import os
import socket

os.mkfifo("/tmp/pipe")
socket.socket(socket.AF_UNIX).bind("/tmp/socket")
open("/tmp/\udcff\n\x1b[2J", "w").close()
assert True
