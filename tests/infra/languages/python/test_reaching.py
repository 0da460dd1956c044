"""Code that ends where a line is reached has a statement more, before the innermost one."""

import pytest

from infra.languages.python.reaching import stopping_at

CODE = """import os
def f(x):
    if x:
        return 1
    elif x is None:
        y = 2
    try:
        z = (1 +
             2)
    except ValueError:
        z = 3
    return z
"""


@pytest.mark.parametrize(
    ("line", "behind"),
    [
        (1, "import os"), (3, "if x:"), (4, "return 1"), (5, "if x is None:"), (6, "y = 2"),
        (8, "z = 1 + 2"), (9, "z = 1 + 2"), (11, "z = 3"), (12, "return z"),
    ],
)  # fmt: skip
def test_the_process_ends_before_the_innermost_statement_of_a_line(line: int, behind: str) -> None:
    lines = [one.strip() for one in stopping_at(CODE, line).splitlines()]
    assert lines[lines.index("__import__('os')._exit(1)") + 1] == behind


def test_what_is_in_no_statement_has_none() -> None:
    assert stopping_at(CODE, 99) == stopping_at("print 1", 1) == ""
