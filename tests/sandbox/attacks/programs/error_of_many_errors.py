# Raises a group of groups of errors.
error = AssertionError("first")
for _ in range(500):
    error = ExceptionGroup("group", [error, ValueError("x" * 1000)])
raise error
