# Changes folder, mask, limits and timers of its process.
import os
import resource
import signal

os.mkdir("/tmp/deeper")
os.chdir("/tmp/deeper")
os.umask(0o777)
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
signal.signal(signal.SIGALRM, signal.SIG_IGN)
signal.setitimer(signal.ITIMER_REAL, 60)
# The second run.
import os
import resource
import signal

assert os.getcwd() == "/tmp"
assert os.umask(0o22) == 0o22
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (256, 256)
assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
