# Raises an error whose text is as large as memory allows.
class Error(Exception):
    def __str__(self):
        return "x" * 10**9


raise Error
