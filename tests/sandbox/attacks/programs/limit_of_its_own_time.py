# Sets a limit of its own on the processor's time.
import resource

resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
while True:
    pass
