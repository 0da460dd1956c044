# Changes the clock.
import time

time.clock_settime(time.CLOCK_REALTIME, 0)
