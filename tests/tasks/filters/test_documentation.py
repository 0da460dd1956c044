"""CodeSearchNet's rules, case by case."""

import pytest

from infra.records import Code
from tasks.corpus.functions import parse_function
from tasks.filters import SPECIAL
from tasks.filters.documentation import (
    SHORT_DOCUMENTATION,
    SHORT_FUNCTION,
    TEST,
    UNDOCUMENTED,
    Documentation,
    first_paragraph,
    unpaired_reason,
)

THREE_LINES = "def f(x):\n    y = x\n    return y"


@pytest.mark.parametrize(
    ("documentation", "paragraph"),
    [
        ("", ""),
        ("One line.", "One line."),
        ("Two\n   lines.", "Two lines."),
        ("First.\n\nSecond.", "First."),
        ("First.\n  \t \nSecond.", "First."),
        ("\n\n  First.\n\nSecond.", "First."),
        ("First.\n@param x a number", "First."),
        ("First.\n  @see other\nMore.", "First."),
        ("First. @return x", "First."),
        ("First\n  line.\n:param int x: a number", "First line."),
        ("First. :returns: x", "First."),
        (":param x: a number", ""),
        ("To a@param, by :raises:`X`.", "To a@param, by :raises:`X`."),
    ],
)
def test_the_first_paragraph_ends_at_the_first_empty_line_or_field(
    documentation: str, paragraph: str
) -> None:
    assert first_paragraph(documentation) == paragraph


@pytest.mark.parametrize(
    ("name", "paragraph", "text", "reason"),
    [
        ("f", "Return x twice.", THREE_LINES, None),
        ("f", "Return x.", THREE_LINES, SHORT_DOCUMENTATION),
        ("f", "-- x -- y --", THREE_LINES, SHORT_DOCUMENTATION),
        ("f", "", THREE_LINES, UNDOCUMENTED),
        ("f", "Return x twice.", "def f(x):\n    return x", SHORT_FUNCTION),
        ("f", "Return x twice.", "def f(x):\n\n\n    return x\n", SHORT_FUNCTION),
        ("assertLatest", "Return x twice.", THREE_LINES, TEST),
        ("runTest", "Return x twice.", THREE_LINES, TEST),
        ("__init__", "Return x twice.", THREE_LINES, SPECIAL),
        ("C.__str__", "Return x twice.", THREE_LINES, SPECIAL),
    ],
)
def test_each_rule_drops_what_it_names(
    name: str, paragraph: str, text: str, reason: str | None
) -> None:
    assert unpaired_reason(Code.of(text, name=name), paragraph, text) == reason


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ('def f(x):\n    """Return x twice.\n\n    More."""\n    y = x\n    return y + x', None),
        ('def f(x):\n    """Return x twice."""\n    return x + x', SHORT_FUNCTION),
        ("def f(x):\n    y = x\n    return y", UNDOCUMENTED),
        ('class C:\n  def __len__(self):\n    """Return the number."""\n    return 1', SPECIAL),
        ("def f(x):\n    print x", UNDOCUMENTED),
    ],
)
def test_the_filter_looks_at_the_function_without_its_documentation(
    source: str, reason: str | None
) -> None:
    assert Documentation().reason_to_drop(parse_function(source, "here")) == reason
