"""Laws of reading functions: parsed and merged.

Covers `merging`, `parsed_code`.
"""

from collections.abc import Iterable, Iterator

import pytest

from infra.collected import Collected, Item, whole
from infra.errors import SourceError
from infra.records import Label, Query, SourceInfo
from tasks.corpus.functions import parse_function
from tasks.corpus.merging import LABEL_OF_DROPPED, REPEATED_CODE, REPEATED_QUERY, Deduplicator
from tasks.filters import FilterChain

INFO = SourceInfo(name="toy", licence="MIT", revision="1", location="here")
GOOD, BAD = "def f(x):\n    return x", "def f(x):\n    print x"
NOT_PARSED = "function does not parse: Python 2 statement"


def collected_of(texts: Iterable[str], labels: Iterable[Label] = (), *queries: Query) -> Collected:
    merged = Deduplicator(FilterChain(("parseable",)))

    def items() -> Iterator[Item]:
        yield from merged.queries(queries)
        yield from merged.codes(parse_function(text, "here") for text in texts)
        yield from merged.labels(labels)

    return whole(merged.streamed(INFO, items()))


def test_what_a_filter_drops_is_counted_by_reason() -> None:
    collected = collected_of((GOOD, BAD, BAD, f"{GOOD}  \n", "x = 1"))
    assert [code.text for code in collected.codes] == [GOOD]
    assert collected.dropped == {NOT_PARSED: 2, REPEATED_CODE: 1, "text without a function": 1}


def test_labels_of_dropped_functions_are_dropped_and_counted() -> None:
    query = Query.of("q")
    labels = [
        Label(
            query_id=query.query_id,
            code_id=parse_function(text, "").code.code_id,
            origin="people",
            relevance=1,
        )
        for text in (GOOD, BAD)
    ]
    collected = collected_of((GOOD, BAD), labels, query, Query.of(" q "))
    assert [label.code_id for label in collected.labels] == [collected.codes[0].code_id]
    assert collected.dropped == {NOT_PARSED: 1, LABEL_OF_DROPPED: 1, REPEATED_QUERY: 1}


@pytest.mark.parametrize(
    ("text", "is_keyword"),
    [
        ("tf.gather_nd", True), ("os.path.join()", True), ("read_csv", True),
        ("read_csv pandas", False), ("quicksort", False), ("unique elements", False),
        ("python 3.8", False), ("3.8", False), ("how to use os.path.join", False), ("c++", False),
    ],
)  # fmt: skip
def test_plain_technical_keywords_are_left_out_with_their_labels(
    text: str, is_keyword: bool
) -> None:
    stream = Deduplicator(FilterChain(("technical-keywords",)))
    function = parse_function("def f(x):\n    return x", "here")
    asked = [Query.of(text), Query.of("sort a list")]
    labels = [
        Label(query_id=query.query_id, code_id=function.code.code_id, origin="o", relevance=1.0)
        for query in asked
    ]
    assert [*stream.queries(asked)] == asked[is_keyword:]
    assert [*stream.codes([function])] == [function.code]
    assert stream.labels(labels) == labels[is_keyword:] == [*stream.new_labels(labels)]
    counts = {"query that is a plain technical keyword": 1, LABEL_OF_DROPPED: 2}
    assert dict(stream.dropped) == (counts if is_keyword else {})


def test_a_collection_whose_functions_are_all_dropped_is_refused_with_the_reasons() -> None:
    with pytest.raises(SourceError, match=r"toy has no function.*1 x function does not parse"):
        collected_of([BAD])


DEEP = "def f(x):\n    return " + "(" * 300 + "x" + ")" * 300


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def f(x):\n    print x", "function does not parse: Python 2 statement"),
        ("def f(x):\n    exec x", "function does not parse: Python 2 statement"),
        (
            "def f(x):\n    try:\n        x()\n    except A, e:\n        pass",
            "function does not parse: Python 2 statement",
        ),
        ("def f(x):\n\tif x:\n        return 1", "function does not parse: tabs and spaces mixed"),
        ("def f(x):\n  y = 1\n   z = 2", "function does not parse: wrong indentation"),
        ("def f(x):\n    return '\0'", "function does not parse: null byte"),
        (DEEP, "function does not parse: nested too deeply"),
        ("def f():\n  return " + "-" * 100_000 + "1", "function does not parse: nested too deeply"),
        ("def f(:", "function does not parse: invalid syntax"),
        ("@decorator\n@another", "function does not parse: invalid syntax"),
        ("class C:\n    x = 1", "text without a function"),
        ("x = 1", "text without a function"),
        ("# only a comment", "text without a function"),
    ],
)
def test_a_text_without_a_readable_function_has_a_problem_of_few_words(
    text: str, problem: str
) -> None:
    function = parse_function(text, "codes.jsonl:3", "given")
    assert (function.syntax, function.parse_error) == (None, problem)
    assert (function.code.name, function.code.origin) == ("given", "codes.jsonl:3")
    assert function.text_without_documentation == function.code.text


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("def f(a, *, b):\n    return a", "f", ("a", "b")),
        ("def f(a):\n    return a\n\ndef g(b):\n    return b", "f", ("a",)),
        ("class C:\n    def m(self, a):\n        return a", "C.m", ("a",)),
        ("@decorator\ndef f(a): pass", "f", ("a",)),
        ("import os\n\nasync def f(): pass", "f", ()),
    ],
)
def test_a_text_is_described_by_its_first_function(
    text: str, name: str, parameters: tuple[str, ...]
) -> None:
    function = parse_function(text, "here")
    assert function.parse_error == ""
    assert (function.code.name, function.code.parameters) == (name, parameters)
    assert function.code.text == text
