"""Laws of collections made from a source's items."""

import pytest

from infra.errors import SourceError
from infra.records import Label, Query, SourceInfo
from tasks.corpus.merging import LABEL_OF_DROPPED, REPEATED_CODE, REPEATED_QUERY, Merged
from tasks.corpus.parsed_code import parse_function
from tasks.filters import FilterChain

INFO = SourceInfo(name="toy", licence="MIT", revision="1", location="here")
GOOD, BAD = "def f(x):\n    return x", "def f(x):\n    print x"
NOT_PARSED = "function does not parse: Python 2 statement"


def merged(*texts: str) -> Merged:
    collection = Merged(FilterChain(("parseable",)))
    for text in texts:
        collection.add_function(parse_function(text, "here"))
    return collection


def test_what_a_filter_drops_is_counted_by_reason() -> None:
    collected = merged(GOOD, BAD, BAD, f"{GOOD}  \n", "x = 1").collected(INFO)
    assert [code.text for code in collected.codes] == [GOOD]
    assert collected.dropped == {NOT_PARSED: 2, REPEATED_CODE: 1, "text without a function": 1}


def test_labels_of_dropped_functions_are_dropped_and_counted() -> None:
    collection, query = merged(GOOD, BAD), Query.of("q")
    collection.add_queries([query, Query.of(" q ")])
    collection.add_labels(
        Label(
            query_id=query.query_id,
            code_id=parse_function(text, "").code.code_id,
            origin="people",
            relevance=1,
        )
        for text in (GOOD, BAD)
    )
    collected = collection.collected(INFO)
    assert [label.code_id for label in collected.labels] == [collected.codes[0].code_id]
    assert collected.dropped == {NOT_PARSED: 1, LABEL_OF_DROPPED: 1, REPEATED_QUERY: 1}


def test_a_collection_whose_functions_are_all_dropped_is_refused_with_the_reasons() -> None:
    with pytest.raises(SourceError, match=r"toy has no function.*1 x function does not parse"):
        merged(BAD).collected(INFO)
