"""Laws of finding functions by syntax tree."""

import ast
import importlib.util
from pathlib import Path

import pytest

from infra.languages import Function, languages
from infra.languages.python.functions import functions_of
from infra.languages.python.syntax import parse
from tasks.corpus.functions import read_source

# Modules of the standard library with the hard cases: strings over several lines in methods,
# decorators, encodings, form feeds, functions under conditions.
MODULES = ("ctypes", "email.message", "http.cookies", "pydoc", "string", "typing", "webbrowser")


def source_of(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return read_source(Path(spec.origin), languages.get("python")())


def functions_in(module: str) -> list[Function]:
    return functions_of(source_of(module))


def body_without_docstring(text: str) -> str:
    node = parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(node)


def only(text: str) -> Function:
    (function,) = functions_of(text)
    return function


@pytest.mark.parametrize("module", MODULES)
def test_the_text_means_what_stood_in_the_file(module: str) -> None:
    nodes = {
        (node.name, node.end_lineno): node
        for node in ast.walk(parse(source_of(module)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for function in functions_in(module):
        node = nodes[function.name.rpartition(".")[2], function.last_line]
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        assert body_without_docstring(function.text) == ast.dump(node), function.name


@pytest.mark.parametrize("module", MODULES)
def test_stripping_takes_the_documentation_and_nothing_else(module: str) -> None:
    for function in functions_in(module):
        stripped = function.text_without_documentation
        assert only(stripped).documentation == "", function.name
        assert body_without_docstring(stripped) == body_without_docstring(function.text)


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ('def f():\n    """D."""\n    return 1', "def f():\n    return 1"),
        ('def f():\n    """D.\n\n    E.\n    """\n\n    return 1', "def f():\n\n    return 1"),
        ('def f():\n    """D."""', "def f():\n    pass"),
        ('def f(): "D."', "def f(): pass"),
        ('def f(): "D."; return 1', "def f(): pass; return 1"),
        ('def f():\n    "ä"; return 1', "def f():\n    pass; return 1"),
        ('def f():\n    "D."  # why\n    return 1', "def f():\n    # why\n    return 1"),
        ("def f():\n    return 1", "def f():\n    return 1"),
        ('def f():\n    b"D."\n    return 1', 'def f():\n    b"D."\n    return 1'),
    ],
)
def test_a_stripped_function_is_still_one(text: str, stripped: str) -> None:
    assert only(text).text_without_documentation == stripped


def test_methods_move_to_the_margin_and_their_strings_do_not() -> None:
    method = only(
        'class C:\n    def f(self):\n        """D."""\n        return """a\n        b"""\n'
    )
    assert method.text == 'def f(self):\n    """D."""\n    return """a\n        b"""'
    assert method.text_without_documentation == 'def f(self):\n    return """a\n        b"""'


def test_decorators_belong_to_the_function() -> None:
    function = only("\n@first\n@second(1)\ndef f():\n    pass\n")
    assert function.text.startswith("@first\n@second(1)\ndef f")
    assert (function.first_line, function.last_line) == (2, 5)


def test_functions_at_any_place_but_inside_functions_are_found() -> None:
    text = """
if a:
    def one(): pass
elif b:
    def two(): pass
else:
    def three(): pass
try:
    def four(): pass
except E:
    def five(): pass
finally:
    def six(): pass
class C:
    async def seven(self):
        def hidden(): pass
    class D:
        with x:
            def eight(self): pass
match x:
    case 1:
        def nine(): pass
    case _:
        class E:
            def ten(self): pass
"""
    names = [function.name for function in functions_of(text)]
    first = ["one", "two", "three", "four", "six", "five"]
    assert names == [*first, "C.seven", "C.D.eight", "nine", "E.ten"]


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("def f(a, /, b, *c, d=1, **e): pass", ("a", "b", "c", "d", "e")),
        ("def f(self): pass", ("self",)),
        ("class C:\n def f(self, a): pass", ("a",)),
        ("class C:\n def f(self, /, a): pass", ("a",)),
        ("class C:\n @classmethod\n def f(cls, a): pass", ("a",)),
        ("class C:\n @staticmethod\n def f(a, b): pass", ("a", "b")),
        ("class C:\n def f(*args): pass", ("args",)),
    ],
)
def test_parameters_are_what_a_caller_passes(text: str, parameters: tuple[str, ...]) -> None:
    assert only(text).parameters == parameters


def test_documentation_is_cleaned_of_its_indentation() -> None:
    function = only(
        'class C:\n    def f(self):\n        """A.\n\n            B.\n        C.\n        """'
    )
    assert function.documentation == "A.\n\n    B.\nC."


def test_documentation_can_always_be_written_to_a_file() -> None:
    assert only("def f():\n    'a\\ud800b'").documentation == "a?b"


@pytest.mark.parametrize(
    "text", ["def f(:", "print 1", "x = '\0'", "(" * 500 + ")" * 500, "x = '\ud800'"]
)
def test_what_is_not_python_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SyntaxError):
        parse(text)


def test_invalid_escapes_of_a_corpus_are_no_warning_of_ours() -> None:
    assert only("def f(x):\n    return '\\d'").name == "f"
