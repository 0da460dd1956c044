# Leaves a thread that would keep the interpreter alive.
import threading
import time

threading.Thread(target=time.sleep, args=(60,)).start()
assert True
