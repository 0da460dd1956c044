# Raises an error that never finishes its message.
class Trap(Exception):
    def __str__(self):
        while True:
            pass

    __repr__ = __str__


raise Trap
