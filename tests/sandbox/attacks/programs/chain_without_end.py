# Raises an error whose causes go round in a circle, ten thousand deep.
error = ValueError("first")
for number in range(10_000):
    following = ValueError(number)
    following.__context__ = error
    error = following
raise error
