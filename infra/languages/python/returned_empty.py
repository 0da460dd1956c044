# Returns nothing in place of containers that are not empty, to others than the code itself: that
# goes on to what it returns, as of a helper.
# It is put before the code; TELLS and EMPTIED are filled in.
# mypy: ignore-errors
def _cosqa_returned(function):
    import copy, functools, sys

    def nothing_of(item):
        if hasattr(item, "__next__"):
            empty = item if next(item, item) is item else (none for none in ())
        else:
            empty = next(ways(item), item)
        if empty is not item and TELLS:
            raise BaseException("a container is returned")
        return empty

    def ways(item):
        for way in (
            lambda: item[:0],
            lambda: (other := copy.copy(item), other.clear())[0],
            lambda: type(item)(),
            lambda: getattr({}, type(item).__name__[5:])(),
        ):
            try:
                if len(item) > len(empty := way()):
                    yield empty
            except Exception:
                pass

    def inside(value):
        if isinstance(value, dict):
            return {key: nothing_of(item) for key, item in value.items()}
        items = [nothing_of(item) for item in value] if isinstance(value, (list, tuple)) else value
        return getattr(value, "_make", tuple)(items) if isinstance(value, tuple) else items

    @functools.wraps(function)
    def call(*arguments, **named):
        value = function(*arguments, **named)
        return value if sys._getframe(1).f_globals is globals() else EMPTIED(value)

    return call
