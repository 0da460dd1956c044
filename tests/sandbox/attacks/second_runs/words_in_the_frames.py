# Prints a word, for which the next program looks in all that it can reach.
print("the original" + " returned 4")
# The second run.
import sys

def word():
    return "the original" + " returned 4"


frame, seen = sys._getframe().f_back, 0
while frame is not None:
    for names in (frame.f_locals, frame.f_globals):
        for name, value in list(names.items()):
            seen += word() in repr(value)[:10**6]
    frame = frame.f_back
assert not seen
