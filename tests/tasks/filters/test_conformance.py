"""Laws that every registered filter keeps, and of each rule, case by case.

Covers `technical_keywords`, with `tests.tasks.corpus.test_merging`, `parseable`, `documentation`,
`python_code`, `special_methods`, `testable`, `testable_without_self`.
"""

import pytest

from infra.languages import languages
from infra.records import Code
from tasks.corpus.functions import parse_function
from tasks.filters import NOT_FOR_LANGUAGE, SPECIAL, CorpusFunction, Filter, FilterChain, filters
from tasks.filters.documentation import (
    SHORT_DOCUMENTATION,
    SHORT_FUNCTION,
    TEST,
    UNDOCUMENTED,
    Documentation,
    first_paragraph,
    unpaired_reason,
)
from tasks.filters.python_code import INCOMPLETE, IRRELEVANT, MIXED, OTHER_LANGUAGE, PythonCode
from tasks.filters.special_methods import SpecialMethods
from tasks.filters.testable import NO_PARAMETER, NO_RESULT, ONLY_SELF, HasInputAndResult
from tasks.filters.testable_without_self import HasInputBesideSelf

SOURCES = [
    'def double(x):\n    """Return twice the number."""\n    y = x + x\n    return y',
    "def halve(x):\n    return x / 2",
    "def nothing(): pass",
    "def shout(x):\n    print x",
    "class C:\n    pass",
    "class C:\n    def f(self, x):\n        return x",
    "x = 1",
    "def f(x):\n\tif x:\n        return 1",
    "def \0(x): return x",
]


@pytest.fixture(params=filters.names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def corpus() -> list[CorpusFunction]:
    return [parse_function(text, f"here:{row}") for row, text in enumerate(SOURCES)]


def reasons(rule: Filter) -> list[str | None]:
    return [rule.reason_to_drop(function) for function in corpus()]


def test_a_filter_takes_any_text_and_keeps_it_or_says_why_not(name: str) -> None:
    for reason in reasons(filters.get(name)()):
        assert reason is None or reason.strip()


def test_a_filter_made_anew_judges_a_corpus_as_before(name: str) -> None:
    assert reasons(filters.get(name)()) == reasons(filters.get(name)())


def test_a_filter_keeps_some_good_function(name: str) -> None:
    assert None in reasons(filters.get(name)())


@pytest.mark.parametrize(
    "rule", ["documentation", "near-duplicates", "special-methods", "testable"]
)
def test_a_rule_refuses_a_language_that_is_unknown(rule: str) -> None:
    text = "int f(int x) {\n  int y = x;\n  return y;\n}"
    code = Code.of(text, name="f", language="cobol", documentation="Return the number.")
    assert filters.get(rule)().reason_to_drop(CorpusFunction(code, None)) == NOT_FOR_LANGUAGE


def test_a_chain_gives_the_reason_of_the_first_filter_that_drops() -> None:
    chained = reasons(FilterChain(("parseable", "testable")))
    assert chained[0] is chained[1] is None
    assert chained[2] == "no input parameter"
    assert chained[3] == "function does not parse: Python 2 statement"


def test_no_filters_keep_everything() -> None:
    assert set(reasons(FilterChain(()))) == {None}


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


CASES = {
    None: [
        "for i in range(3):\n    print(i)", "x = [i for i in range(3)]",
        "sorted(d.items(), key=lambda x: x[1])", "def f(x):\n    return x", "print 'hello'",
        "def f(x):\n    print x", "    import re\n    re.sub('a', 'b', s)",
        "try:\n    f()\nexcept ValueError, error:\n    print error",
        "class A(object):\n    def f(self):\n        raise ValueError, 'x'",
    ],
    MIXED: [
        ">>> a = 1\n>>> a\n1", "In [1]: a = 3\n\nIn [2]: a\nOut[2]: 3",
        "Traceback (most recent call last):\n  File 'x.py', line 1\nValueError",
        "def f(x):\n    return x\n\n# prints\n1 2 3\n4 5",
    ],
    OTHER_LANGUAGE: [
        "<html>\n<body>\n<form action='x'>\n<input type='text' name='a'>\n</form></body></html>",
        "SELECT * FROM t WHERE a = 3 ORDER BY b;", '{"a": 1, "b": [1, 2]}',
        "$(document).ready(function() { var x = 3; alert(x); });",
        "#include <stdio.h>\nint main() { return 0; }",
    ],
    IRRELEVANT: ["10:30\n11:20\n12:40", "hello world this is prose", "1 2 3\n4 5 6", "[1, 2, 3]"],
    INCOMPLETE: [
        "foo.bar", "except ValueError:\n    pass", "with open(f) as g:", "def foo():",
        "for x in y:\n    ...\n    if x",
    ],
}  # fmt: skip


def test_a_snippet_is_kept_or_of_one_of_the_papers_kinds() -> None:
    for reason, snippet in [(reason, text) for reason, texts in CASES.items() for text in texts]:
        assert PythonCode().reason_to_drop(parse_function(snippet, "here")) == reason


def reason_of(source: str) -> str | None:
    return HasInputAndResult().reason_to_drop(parse_function(source, "here"))


@pytest.mark.parametrize(
    "body",
    [
        "return x",
        "return 0",
        "return (None,)",
        "if x:\n  return\n else:\n  return x",
        "for _ in x:\n  with x:\n   try:\n    pass\n   except E:\n    return x",
        "while x:\n  pass\n else:\n  return 1",
        "match x:\n  case 1:\n   return x",
    ],
)
def test_a_return_with_a_value_at_any_depth_is_enough(body: str) -> None:
    assert reason_of(f"def f(x):\n {body}") is None


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "return",
        "return None",
        "yield x",
        "def g():\n  return x",
        "async def g():\n  return x",
        "class C:\n  def g(self):\n   return x",
        "return_ = lambda: x",
    ],
)
def test_returns_of_others_and_returns_of_nothing_do_not_count(body: str) -> None:
    assert reason_of(f"def f(x):\n {body}") == NO_RESULT


def test_a_coroutine_is_judged_like_a_function() -> None:
    assert reason_of("async def f(x):\n return x") is None


@pytest.mark.parametrize(
    "source",
    [
        "def f(): return 1",
        "class C:\n def f(self): return 1",
        "class C:\n @classmethod\n def f(cls): return 1",
    ],
)
def test_the_object_that_a_method_is_bound_to_is_no_input(source: str) -> None:
    assert reason_of(source) == NO_PARAMETER


def test_a_function_that_does_not_parse_is_dropped_for_that() -> None:
    assert reason_of("def f(x):\n print x") == "function does not parse: Python 2 statement"


@pytest.mark.parametrize(
    ("source", "counted", "not_counted"),
    [
        ("def __len__(self):\n return 1", None, ONLY_SELF),
        ("def make(cls):\n return cls()", None, ONLY_SELF),
        ("def double(self, x):\n return x", None, None),
        ("def f(self):\n pass", NO_RESULT, NO_RESULT),
        ("def f(me):\n return me", None, None),
        ("class C:\n def f(self): return 1", NO_PARAMETER, NO_PARAMETER),
    ],
)
def test_self_counts_where_a_method_stands_alone_unless_the_other_reading_is_chosen(
    source: str, counted: str | None, not_counted: str | None
) -> None:
    function = parse_function(source, "here")
    assert HasInputAndResult().reason_to_drop(function) == counted
    assert HasInputBesideSelf().reason_to_drop(function) == not_counted


@pytest.mark.parametrize("rule", [HasInputAndResult(), HasInputBesideSelf()])
def test_one_pass_counts_both_readings(rule: HasInputAndResult) -> None:
    for header in ("f(self): return 1", "f(x): return x", "f(): pass", "f(x): print x"):
        rule.reason_to_drop(parse_function(f"def {header}", "here"))
    [note] = rule.notes
    assert "of 4: self counted 2 kept, 2 dropped; self not counted 1 kept, 3 dropped" in note


def test_special_methods_are_dropped_by_a_filter_of_their_own() -> None:
    rule = SpecialMethods()
    assert rule.reason_to_drop(parse_function("def __len__(self):\n return 1", "")) == SPECIAL
    assert rule.reason_to_drop(parse_function("def f(x):\n return 1", "")) is None
    assert rule.reason_to_drop(parse_function("def __len__(self): print 1", "")) is None


@pytest.mark.parametrize(
    ("name", "special"),
    [
        ("__init__", True),
        ("C.__eq__", True),
        ("__private", False),
        ("trailing__", False),
        ("f", False),
    ],
)
def test_special_names_have_two_underscores_on_both_sides(name: str, special: bool) -> None:
    assert languages.get("python")().is_special(name) is special
