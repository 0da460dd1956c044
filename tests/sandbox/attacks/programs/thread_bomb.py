# Starts threads for ever and swallows every refusal.
import threading

stop = threading.Event()
while True:
    try:
        threading.Thread(target=stop.wait).start()
    except RuntimeError:
        pass
