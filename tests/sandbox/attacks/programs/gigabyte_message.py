# Raises an error whose message is a hundred megabytes long.
raise ValueError("x" * 10**8)
