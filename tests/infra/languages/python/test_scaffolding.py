"""Laws of the imports and stubs that code is given, and of statements put before it."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.languages.python import Python
from infra.languages.python.scaffolding import (
    bound_names,
    import_statements,
    joined,
    names_bound_by,
    scaffolded,
    self_attributes,
    undefined_names,
    with_definitions,
    with_imports,
)


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


LATER = "from __future__ import annotations"


@pytest.mark.parametrize(
    ("code", "with_them"),
    [
        ("def f():\n    pass", "import a\nimport b\ndef f():\n    pass"),
        (f"{LATER}\nx = 1", f"{LATER}; import a; import b\nx = 1"),
        (f'"""D."""\n{LATER}\n', f'"""D."""\n{LATER}; import a; import b\n'),
        (f"{LATER}; x = a.b", f"{LATER}; import a; import b; x = a.b"),
        (f"{LATER}  # é\f\nx = 1", f"{LATER}; import a; import b  # é\f\nx = 1"),
        (f"'é'; {LATER}; {LATER}", f"'é'; {LATER}; {LATER}; import a; import b"),
    ],
)
def test_imports_stand_before_the_code_and_after_what_must_be_first(
    code: str, with_them: str
) -> None:
    assert with_imports(code, "import a\nimport b\n") == with_them
    ast.parse(with_them)


def test_definitions_stand_there_too_on_lines_of_their_own() -> None:
    code = f"'é'; {LATER}; x = a\n{LATER}  # more\ndef f(): return a"
    whole = with_definitions(code, "\nclass a:\n    b = 1\n")
    assert whole == f"'é'; {LATER}; x = a\n{LATER}\nclass a:\n    b = 1\n# more\ndef f(): return a"
    ast.parse(whole)
    assert with_definitions("x = a", "a = 1") == "a = 1\nx = a"


def test_of_two_texts_as_one_the_second_binds_what_both_bind() -> None:
    first = "import a\nfrom b import c, d\ndef e(): pass\nf = 1"
    assert joined(first, "def e(): return 2\nc = a = 3") == (
        "from b import c, d\nf = 1\ndef e(): return 2\nc = a = 3"
    )
    assert (joined(" x = 1 ", ""), joined("", "x = 1\n"), joined("", "")) == ("x = 1", "x = 1", "")


def test_code_that_is_no_python_gets_no_imports() -> None:
    with pytest.raises(SyntaxError):
        with_imports("print 1", "import a")


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ("import a.b, c as d", ["a", "d"]),
        ("from a import b as c, d\nimport e", ["c", "d", "e"]),
        ("from a import *", ["*"]),
    ],
)
def test_the_names_that_imports_bind(lines: str, names: list[str]) -> None:
    found = [name for item in import_statements(lines) for name in names_bound_by(item)]
    assert found == names


@pytest.mark.parametrize("lines", ["", "x = 1", "import a; x = 1", "import", "\0", "# only"])
def test_a_text_with_anything_but_imports_is_refused(lines: str) -> None:
    with pytest.raises(ValueError, match="not import statements alone"):
        import_statements(lines)


def test_what_code_lacks_is_what_it_looks_up_and_binds_nowhere() -> None:
    code = "import os\ndef f(a: Kind, b=other):\n    c = len(a)\n    return floor(c) + os.sep"
    assert undefined_names(code) == {"other", "floor", "Kind"}
    assert undefined_names(f"{LATER}\n{code}") == {"other", "floor"}
    assert undefined_names("def f(self): return __file__, __class__") == frozenset()
    assert {"os", "f", "a", "b", "c"} == bound_names(code)
    assert undefined_names("print 1") == bound_names("print 1") == frozenset()


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f(self, x):\n    self.total += self.step * x\n    return self.g(x)", "g step total"),
        ("def f(self):\n    return self.g() + self.x\ndef g(self):\n    return self.y", "x y"),
        ("def f(self):\n    self.made = 1", ""),
        ("def f(cls):\n    return cls.__name__ + cls.title", "title"),
        ("class A:\n    def f(self):\n        return self.x", ""),
        ("def f(x):\n    return x.y", ""),
        ("print 1", ""),
    ],
)
def test_what_a_method_reads_of_its_object_is_known_by_name(code: str, names: str) -> None:
    assert self_attributes(code) == tuple(names.split())
    assert Python().self_attributes(code) == self_attributes(code)
