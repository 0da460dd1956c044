# Raises the error that the program's own asserts raise.
def double(number):
    raise AssertionError("this is no failed test")
