import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.languages.python.signature import signature_of

SECRET = "how_it_is_done"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (f"def f(a, *, b=3):\n    '''{SECRET}'''\n    return 1", "def f(a, *, b=3):\n    ..."),
        (f"import os\nX = '{SECRET}'\ndef f(self): {SECRET}", "def f(self):\n    ..."),
        (f"async def f():\n    await {SECRET}", "async def f():\n    ..."),
        (f"class A:\n    x = '{SECRET}'\n    def f(): 1", "class A:\n\n    def f():\n        ..."),
        (f"class A:\n    x = '{SECRET}'", "class A:\n    ..."),
        (f"def f(a,\n      b): print '{SECRET}'", "def f(a,\n      b):"),
        (f"print '{SECRET}'", ""),
    ],
)  # fmt: skip
def test_a_signature_shows_what_can_be_called_and_nothing_of_how_it_is_done(
    code: str, shown: str
) -> None:
    assert signature_of(code) == shown


@given(st.text())
def test_any_text_has_a_signature(code: str) -> None:
    assert isinstance(signature_of(code), str)


def test_a_signature_is_code_itself() -> None:
    ast.parse(signature_of("class A:\n    def f(self, a=(1, 2)): return a\ndef g(): pass"))
