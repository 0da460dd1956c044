# Turns the counters back and forth, by their names and by what they are bound to, before it fails.
for name, value in list(globals().items()):
    if name.startswith("_") and len(name) == 17:
        owner = getattr(value, "__self__", None)
        is_container = isinstance(owner, (dict, list))
        for _ in range(99):
            if value == getattr(owner, "pop", None):
                owner.clear()
            else:
                value("test") if is_container else value()
        if is_container:
            owner.clear()
        globals()[name] = lambda *_: None
assert False
