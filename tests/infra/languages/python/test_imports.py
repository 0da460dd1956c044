import ast

import pytest

from infra.languages.python import Python
from infra.languages.python.scaffolding import (
    bound_names,
    import_statements,
    joined,
    names_bound_by,
    self_attributes,
    undefined_names,
    with_definitions,
    with_imports,
)

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
