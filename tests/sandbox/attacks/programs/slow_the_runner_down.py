# Puts the runner last in every queue.
import os

os.setpriority(os.PRIO_PROCESS, 1, 19)
try:
    os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))
except OSError:
    pass
assert True
