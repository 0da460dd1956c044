# Takes all that the kernel allows one user of what it counts over all containers.
import array
import ctypes
import fcntl
import os
import socket

libc = ctypes.CDLL(None)
with open("/proc/sys/fs/inotify/max_user_instances") as file:
    most = int(file.read())
watches = []
while (made := libc.inotify_init1(0)) >= 0:
    watches.append(made)
assert len(watches) >= min(most, 200), (len(watches), most)
for watch in watches:
    os.close(watch)

with open("/proc/sys/fs/pipe-user-pages-soft") as file:
    most = int(file.read())
pipes, pages = [], 0
while len(pipes) < 100:
    pipes.append(os.pipe())
    try:
        pages += fcntl.fcntl(pipes[-1][1], fcntl.F_SETPIPE_SZ, 2**20) // os.sysconf("SC_PAGESIZE")
    except PermissionError:
        break
assert most == 0 or pages > 0.8 * min(most, 25_600), (pages, most)

ends = socket.socketpair()
sent = 0
while sent < 2_000:
    files = array.array("i", [0] * 50)
    try:
        ends[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
    except OSError:
        break
    sent += len(files)
assert sent >= 200, sent
