"""What a function lacks is found without running it."""

import pytest

from sandbox.mending import free_names, imported_modules, imports_for, is_method


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f(a, b=1, *c, **d):\n    return a + b + len(c)", set()),
        ("def f(a):\n    return np.mean(a)", {"np"}),
        ("def f(a):\n    return [os.path.join(x, y) for x, y in a]", {"os"}),
        ("def f():\n    import os\n    return os.getcwd()", set()),
        ("def f(a):\n    def g():\n        return a + LIMIT\n    return g()", {"LIMIT"}),
        ("def f(a=DEFAULT) -> Result:\n    return a", {"DEFAULT", "Result"}),
        ("@cached\ndef f():\n    return f()", {"cached"}),
        ("def f(a):\n    global count\n    count = a\n    return count", {"count"}),
        (
            "def f(a):\n    try:\n        pass\n    except Broken as e:\n        print(e)",
            {"Broken"},
        ),
        ("import numpy as np\ndef f(a):\n    return np.mean(a)", set()),
    ],
)
def test_free_names_are_those_that_nobody_gives(code: str, names: set[str]) -> None:
    assert free_names(code) == names


@pytest.mark.parametrize(
    ("expression", "line"),
    [
        ("np.mean(a)", "import numpy as np"),
        ("datetime.datetime.now()", "import datetime"),
        ("datetime.strptime(a, b)", "from datetime import datetime"),
        ("glob.glob(a)", "import glob"),
        ("glob(a)", "from glob import glob"),
        ("defaultdict(list)", "from collections import defaultdict"),
        ("re.sub(a, b, c)", "import re"),
        ("sqrt(2)", "from math import sqrt"),
    ],
)
def test_an_obvious_import_is_found(expression: str, line: str) -> None:
    code = f"def f(a, b, c):\n    return {expression}"
    assert list(imports_for(code).values()) == [line]


@pytest.mark.parametrize("expression", ["LIMIT", "Client()", "helper(a)", "urllib2.urlopen(a)"])
def test_what_only_its_own_module_has_is_not_guessed(expression: str) -> None:
    assert imports_for(f"def f(a):\n    return {expression}") == {}


def test_modules_are_found_wherever_they_are_imported() -> None:
    code = "import os.path\ndef f():\n    from sklearn.svm import SVC\n    from . import here\n"
    assert imported_modules(code) == {"os", "sklearn"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [("def f(self): pass", True), ("def f(cls, a): pass", True), ("def f(a, self): pass", False)],
)
def test_a_method_is_told_by_its_first_parameter(code: str, expected: bool) -> None:
    assert is_method(code) == expected
