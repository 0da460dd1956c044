"""Laws of names that a program shares with the code under test: no call is of anything else.

Covers `agents.gates.static_checks`.
"""

from agents.gates.gates import Gate
from agents.gates.static_checks import faults_of

CODE = "def clamp(value, low, high): ...\ndef size(items): ..."
HEAD = "import target\nfrom target import clamp, size\nfrom target import clamp as subject\n"
ASSERT = "assert target.clamp(1, 2, 3) == 2\n"


def is_refused(lines: str) -> bool:
    return Gate.LEAVES_TARGET_ALONE in faults_of(f"{HEAD}{ASSERT}{lines}", CODE)


def test_a_variable_may_share_a_name_with_the_code_where_it_is_not_called() -> None:
    for lines in [
        "def f(x):\n    size = len(x)\n    return size + 1",
        "def f(x, *size, **clamp):\n    return size, clamp",
        "def f(x):\n    for size in x:\n        print(size)",
        "def f(x):\n    with open(x) as size:\n        return size.read()",
        "def f(x):\n    if (size := len(x)) > 1:\n        return size",
        "def f(x):\n    size = 0\n    size += 1\n    return size",
        "def f(x):\n    try:\n        x()\n    except OSError as size:\n        print(size)",
        "def f(x):\n    match x:\n        case [size, *clamp]:\n            return size, clamp",
        "def f(x):\n    size = 0\n    def g():\n        nonlocal size\n        size += 1\n    g()",
        "def f(x):\n    return sorted(size for size in x)",
        "pairs = [(size, other) for other in (1, 2) for size in (3, 4)]",
        "def f(x):\n    size = 1\ndef g(x):\n    return size(x)",
        "class A:\n    def size(self): return 1\n    def g(self): return size([1])",
        "def f():\n    size = target.size\n    return size([1])",
        "clamp, size = target.clamp, target.size",
        "def f():\n    from target import size\n    return size([1])",
        "def f():\n    target = 5\n    return clamp(target, 1, 2)",
    ]:
        assert not is_refused(lines)


def test_what_gives_a_name_of_the_code_another_meaning_is_refused() -> None:
    for lines in [
        # the module's
        "size = 3",
        "size = target.size = 3",
        "clamp, size = target.clamp, len",
        "for size in [len]:\n    pass",
        "with open('x') as size:\n    pass",
        "(size := len)",
        "[size := len for _ in '1']",
        "from os import getcwd as clamp",
        "import size.part",
        "try:\n    pass\nexcept OSError as size:\n    pass",
        "match len:\n    case size:\n        pass",
        "if ASSERT:\n    def size(x): return 1",
        "def f():\n    global size\n    size = len",
        "subject = len",
        # a function's own function, class or module
        "def f():\n    def size(x): return 1",
        "def f():\n    async def size(x): return 1",
        "def f():\n    class size: pass",
        "def f():\n    from os import getcwd as clamp",
        "def f():\n    size = lambda x: 1\n    return map(size, [1])",
        # a variable that is called
        "def f():\n    size = len\n    return size([1])",
        "def f():\n    size = len\n    return [size(x) for x in [[1]]]",
        "def f():\n    size = len\n    def g():\n        return size([1])\n    return g()",
        "def f():\n    size = len\n    return (lambda: size([1]))()",
        "def f():\n    size = len\n    return map(size, [[1]])",
        "def f(self):\n    size = len\n    self.assertRaises(TypeError, size, 1)",
        "def f():\n    size = len\n    @size\n    def g(): pass",
        "def f(size=len):\n    assert size([1]) == 1",
        "(lambda size: size([1]))(len)",
        "assert [size([1]) for size in [len]] == [1]",
        "def f():\n    for size in [len]:\n        assert size([1]) == 1",
        "def f(x):\n    with x as size:\n        assert size([1]) == 1",
        "def f():\n    assert (size := len) and size([1]) == 1",
        "def f():\n    size, other = len, 1\n    return size([1])",
        "def f(x):\n    match x:\n        case [size]:\n            return size([1])",
        "def f(x):\n    try:\n        x()\n    except OSError as size:\n        size([1])",
        "def f():\n    size = target.size\n    size = len\n    return size([1])",
        """def f():
            size = target.size
            def g():
                nonlocal size
                size = len
            g()
            return size([1])""",
        "class A:\n    size = len\n    assert size([1]) == 1",
        "class A:\n    def f(self):\n        clamp = max\n        assert clamp(1, 2, 3) == 3",
        # what stands for the module, or a part of it
        "target = other\nassert target.clamp(1, 2, 3) == 3",
        "class target:\n    clamp = max\nassert target.clamp(1, 2, 3) == 3",
        "def f(target):\n    assert target.clamp(1, 2, 3) == 3",
        "def f(target):\n    return map(target.size, [1])",
        "for target.clamp in [max]:\n    pass",
        "target.clamp, other = max, 1",
    ]:
        assert is_refused(lines)
