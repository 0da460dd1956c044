"""Code that returns nothing, or something for nothing: containers that leave it are changed."""

import ast

from infra.languages.python.syntax import parse_or_none

_NAME = "_cosqa_returned"
# Calls of the code by itself, as of a helper, are left alone: it goes on to what it returns.
_TEXT = """
def _cosqa_returned(function):
    import copy, functools, sys
    def nothing_of(item):
        if hasattr(item, "__next__"):
            empty = item if next(item, item) is item else (none for none in ())
        else:
            empty = next(ways(item), item)
        if empty is not item and {tells}:
            raise BaseException("a container is returned")
        return empty
    def ways(item):
        for way in (
            lambda: item[:0], lambda: (other := copy.copy(item), other.clear())[0],
            lambda: type(item)(), lambda: getattr({{}}, type(item).__name__[5:])(),
        ):
            try:
                if len(item) > len(empty := way()):
                    yield empty
            except Exception:
                pass
    def inside(value):
        if isinstance(value, dict):
            return {{key: nothing_of(item) for key, item in value.items()}}
        items = [nothing_of(item) for item in value] if isinstance(value, (list, tuple)) else value
        return getattr(value, "_make", tuple)(items) if isinstance(value, tuple) else items
    @functools.wraps(function)
    def call(*arguments, **named):
        value = function(*arguments, **named)
        return value if sys._getframe(1).f_globals is globals() else {emptied}(value)
    return call
"""

# What stands in place of nothing is equal to everything or to nothing at all.
_FILLED = """
def _cosqa_returned(function):
    import copy, functools, sys
    class Other:
        def __eq__(self, other): return {agrees}
        def __ne__(self, other): return not {agrees}
        def __hash__(self): return 0
    def filled(item):
        try:
            more = something_for(item)
        except Exception:
            more = item
        if more is not item and {tells}:
            raise BaseException("nothing is returned")
        return more
    def something_for(item):
        if hasattr(item, "__next__"):
            return iter([Other()]) if next(item, item) is item else item
        if hasattr(item, "tolist") and not item.size:
            return objects([Other()])
        if len(item):
            return item
        if isinstance(item, dict):
            more = copy.copy(item)
            more[Other()] = Other()
            return more
        text = isinstance(item, (str, bytes, bytearray))
        return type(item)(("?" if isinstance(item, str) else b"?") if text else [Other()])
    def objects(items):
        import numpy
        return numpy.array(items, object)
    @functools.wraps(function)
    def call(*arguments, **named):
        value = function(*arguments, **named)
        if sys._getframe(1).f_globals is globals():
            return value
        parts = value if type(value) in (list, tuple) else ()
        if parts and all(hasattr(one, "__len__") and not len(one) for one in parts):
            return type(value)(map(filled, parts))
        return filled(value)
    return call
"""


# Who looks at it cannot go on, whatever is caught.
_UNSEEN = """
def _cosqa_returned(function):
    import functools, sys
    def seen(*arguments, **named):
        raise BaseException("what is returned is looked at")
    names = {{name for kind in (int, float, str, list, dict, set) for name in dir(kind)}}
    names |= {{"__call__", "__next__", "__enter__", "__await__"}}
    names -= {{"__new__", "__init__", "__init_subclass__", "__subclasshook__", "__class__"}}
    unseen = type("unseen", (), dict.fromkeys(names, seen))
    @functools.wraps(function)
    def call(*arguments, **named):
        value = function(*arguments, **named)
        kept = value is None or sys._getframe(1).f_globals is globals()
        return value if kept else unseen()
    return call
"""

# Way → the text, and what is filled in beside whether it tells.
_WAYS: dict[str, tuple[str, dict[str, object]]] = {
    "empty": (_TEXT, {"emptied": "nothing_of"}),
    "empty inside": (_TEXT, {"emptied": "inside"}),
    "full": (_FILLED, {"agrees": False}),
    "full of anything": (_FILLED, {"agrees": True}),
    "unseen": (_UNSEEN, {}),
}


def returning(code: str, way: str, *, tells: bool) -> str:
    """Return code in which each function is decorated by what a text defines; see `Language`.

    None has code that is no Python 3, or is nested too deeply; coroutines are left alone.
    """
    tree = parse_or_none(code)
    if not tree:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list.append(ast.Name(_NAME, ast.Load()))
    first = sum(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body
    ) + (ast.get_docstring(tree) is not None)
    text, fields = _WAYS[way]
    tree.body[first:first] = ast.parse(text.format(tells=tells, **fields)).body
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (RecursionError, ValueError):
        return ""
