"""Laws that every registered filter keeps, with those of `FilterChain` and of `parseable`.

Covers `tasks.filters.technical_keywords`, with `tests.tasks.corpus.test_corpus`.
"""

import pytest

from infra.errors import UnknownNameError
from infra.records import Code
from tasks.corpus.functions import parse_function
from tasks.filters import NOT_FOR_LANGUAGE, CorpusFunction, Filter, FilterChain, filters

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


def test_an_unknown_filter_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown filter 'short'.*testable"):
        FilterChain(("short",))
