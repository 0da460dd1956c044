# Turns the counters back and forth, by their names and by what they are bound to, before it fails.
for name, value in list(globals().items()):
    if name.startswith("_") and len(name) == 17:
        owner = getattr(value, "__self__", None)
        if isinstance(owner, dict):
            owner.clear()
        for _ in range(99):
            value() if not isinstance(owner, dict) else value("test")
        globals()[name] = lambda *_: None
assert False
