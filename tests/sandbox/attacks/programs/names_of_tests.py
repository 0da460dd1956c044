# Has tests whose names are no text, are empty lines, reports, or longer than memory should be.
for name in ("\ud800", "\0", "\n9 9 9 =+", "\0passed\0", "é" * 10**6, "\u202e", "!"):
    globals()[f"test_{name}"] = (lambda: None).__class__((lambda: None).__code__, globals())
assert True
