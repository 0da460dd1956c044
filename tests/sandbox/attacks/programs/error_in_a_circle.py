# Raises errors that are each other's cause, with a traceback that is not theirs.
first, second = ValueError("first"), AssertionError("second")
first.__cause__, second.__cause__ = second, first
first.__context__ = second
raise first.with_traceback(None)
