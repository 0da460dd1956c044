# Raises what ends loops and generators.
def double(number):
    raise StopIteration(4)
