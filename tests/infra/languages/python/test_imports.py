import ast

import pytest

from infra.languages.python import Python
from infra.languages.python.imports import import_statements, names_bound_by, with_imports
from infra.languages.python.scaffolding import bound_names, lacking_names, receiver_attributes

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
    assert Python().with_imports(code, "import a\nimport b") == with_them
    ast.parse(with_them)


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
    assert lacking_names(code) == {"other", "floor"}
    assert {"os", "f", "a", "b", "c"} == bound_names(code)
    assert lacking_names("print 1") == bound_names("print 1") == frozenset()


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
    assert receiver_attributes(code) == tuple(names.split())
    assert Python().receiver_attributes(code) == receiver_attributes(code)
