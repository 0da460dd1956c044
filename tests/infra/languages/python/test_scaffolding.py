from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.languages.python.scaffolding import scaffolded


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("return os.path.join(a, b)", "import os"),
        ("return re.sub(a, b, json.dumps(a))", "import json; import re"),
        ("return np.array(a)", "import numpy as np"),
        ("return six.PY3", "import six"),
        ("return OrderedDict(a)", "from collections import OrderedDict"),
        ("return datetime.datetime.now()", "import datetime"),
        ("return datetime.strptime(a, b)", "from datetime import datetime"),
        ("return datetime(a, b, 1) + timedelta(1)",
         "from datetime import datetime; from datetime import timedelta"),
        ("return [unicode(x) for x in xrange(a)]", "unicode = str; xrange = range"),
    ],
)  # fmt: skip
def test_what_a_function_lacks_is_bound_on_a_line_before_it(body: str, line: str) -> None:
    code = f"def f(a, b):\n    {body}"
    assert scaffolded(code) == f"{line}\n{code}"


def test_annotations_with_unknown_names_are_not_evaluated() -> None:
    code = "def f(a: Sequence[T], b: np.ndarray) -> Unheard[int]:\n    return os.sep"
    lazy = "from __future__ import annotations"
    assert scaffolded(code) == f"{lazy}; import os\n{code}"
    known = "def f(a: int) -> 'str':\n    return os.sep"
    assert scaffolded(known) == f"import os\n{known}"
    exec(scaffolded(code), {})


MEAN = "def mean(xs):\n    return math.fsum(xs) / len(xs)"
DIVISION = "from __future__ import division"


@pytest.mark.parametrize(
    "code",
    [
        f"{DIVISION}\n\n{MEAN}",
        f"# -*- coding: utf-8 -*-\n{DIVISION}\n\n{MEAN}",
        f'"""Means."""\n{DIVISION}\n\n{MEAN}',
        f"{DIVISION}; start = math.pi  # of Python 2\n{MEAN}",
        f"from __future__ import (\n    division,\n    print_function)\n{MEAN}",
        f"{DIVISION}\nfrom __future__ import print_function\n\f\n{MEAN}",
        f"{DIVISION}\n{MEAN}\ndef show(x: Frame):\n    return np.array(x)",
    ],
)
def test_what_a_function_lacks_is_bound_behind_its_imports_from_the_future(code: str) -> None:
    space: dict[str, Any] = {}
    exec(compile(scaffolded(code), "target.py", "exec", dont_inherit=True), space)
    assert space["mean"]([1, 2]) == 1.5
    assert scaffolded(code).count("\n") == code.count("\n")


def test_a_name_that_a_pattern_binds_is_not_lacking() -> None:
    code = "def f(a):\n    match a:\n        case [time, *copy]: return time.x, copy.y"
    assert scaffolded(code) == code
    assert scaffolded(code.replace("[time, *copy]", "{1: time, **copy}")).startswith("def")


@pytest.mark.parametrize(
    "code",
    [
        "def f(os):\n    return os.path",
        "import os\ndef f():\n    return os.path",
        "def f():\n    import re\n    return re.compile('')",
        "def f():\n    json = 3\n    return json",
        "def f(a):\n    return a + other(a) + select",
        "def f():\n    try:\n        f()\n    except KeyError as time:\n        time.x()",
        "def f(): print 3",
        "",
    ],
)
def test_what_is_bound_or_unknown_is_left_alone(code: str) -> None:
    assert scaffolded(code) == code


@given(st.text())
def test_any_text_keeps_its_end(code: str) -> None:
    assert scaffolded(code).endswith(code)


def test_a_method_stands_unchanged_before_the_class_of_its_dummies() -> None:
    code = "def f(self, x):\n    return self.y + x"
    before, after = scaffolded(code).split(code)
    assert before == ""
    assert after.startswith("\nfrom types import SimpleNamespace\nclass DummySelf(")
    assert "\nDummySelf.f = f\n" in after


@pytest.mark.parametrize(
    ("header", "call"),
    [
        ("def f(self, x):", "DummySelf(y=2).f(3)"),
        ("def f(self, x):", "f(DummySelf(y=2), 3)"),
        ("def __f(self, x):", "__f(DummySelf(y=2), 3)"),
        ("def __call__(self, x):", "__call__(DummySelf(y=2), 3)"),
        ("@classmethod\ndef f(self, x):", "type('', (DummySelf,), {'y': 2}).f(3)"),
        ("@property\ndef f(self, x=3):", "DummySelf(y=2).f"),
    ],
)
def test_a_dummy_has_the_method_and_what_the_test_gives_it(header: str, call: str) -> None:
    assert eval(call, loaded(f"{header}\n    return self.y + x")) == 5


def test_a_dummy_makes_nothing_up() -> None:
    names = loaded("def f(self, x):\n    return self.y + x")
    with pytest.raises(AttributeError, match="y"):
        eval("DummySelf(z=1).f(3)", names)


@pytest.mark.parametrize("line", ["self.done(x)", "self.log.info('%s', x)", "self.done(x, by=1)"])
def test_a_dummy_takes_the_calls_of_another(line: str) -> None:
    names = loaded(f"def f(self, x):\n    {line}\n    return x")
    assert eval("DummySelf(done=DummySelf(), log=DummySelf(info=DummySelf())).f(3)", names) == 3


@pytest.mark.parametrize(
    "use",
    [
        "1 if given else 2", "str(given)", "f'{given}'", "[*given]", "given.x", "given['x']",
        "given == 3", "3 != given", "given < 3", "given + 3", "'a' + given", "','.join([given])",
        "{given: 1}", "len(given)", "float(given)", "range(given)", "3 in given",
    ],
)  # fmt: skip
def test_what_the_call_of_a_dummy_gives_is_known_to_nobody(use: str) -> None:
    names = loaded(f"def f(self, x):\n    given = self.done(x)\n    return {use}")
    with pytest.raises((NameError, TypeError), match=r"\bDummySelf\b"):  # it lacks something
        eval("DummySelf(done=DummySelf()).f(3)", names)


def test_a_method_finds_itself_on_a_dummy() -> None:
    names = loaded("def f(self, x):\n    return x and self.f(x - 1) + self.step")
    assert eval("DummySelf(step=2).f(3)", names) == 6


def test_dummies_are_told_apart_as_objects_are() -> None:
    names = loaded("def f(self): pass")
    assert len(eval("{DummySelf(a=1), DummySelf(a=1)}", names)) == 2


@pytest.mark.parametrize(
    "code",
    [
        "def f(x, self):\n    return x",
        "class C:\n    def f(self):\n        return 1",
        "def f(self): pass\nDummySelf = 3",
    ],
)
def test_what_has_its_class_or_needs_none_gets_no_dummy(code: str) -> None:
    assert scaffolded(code) == code


def loaded(code: str) -> dict[str, Any]:
    """Return the names that a target module has."""
    names: dict[str, Any] = {"__name__": "target"}
    exec(scaffolded(code), names)
    return names
