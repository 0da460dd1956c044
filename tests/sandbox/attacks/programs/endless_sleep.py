# Never ends, and costs nothing.
import time

time.sleep(10**6)
