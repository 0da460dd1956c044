"""Laws that every registered retrieval method keeps (bag_of_words, bm25 and tf_idf among them).

Covers `tasks.retrievers.*`.
"""

import random

import pytest

from infra.records import Code, Query
from tasks.retrievers import retrievers

CODES = [
    Code.of(text)
    for text in (
        "def read_json_file(path):\n    # read json\n    return json.load(open(path))",
        "def sortListByLength(items):\n    # sort by length\n    return sorted(items, key=len)",
        "def add(a, b):\n    return a + b",
        "def isPrime(number):\n    # is it prime?\n    return all(number % n for n in [2])",
        "def add_(b, a):\n    return b + a",
    )
]
QUERIES = [Query.of(text) for text in ("read a json file", "sort list by length", "is prime")]


@pytest.mark.parametrize("name", retrievers.names())
def test_a_method_finds_the_code_that_says_the_same_words(name: str) -> None:
    rankings = retrievers.get(name)().rank(QUERIES, CODES, 3)
    best = [rankings.code_ids[row[0]] for row in rankings.codes]
    assert best == [CODES[n].code_id for n in (0, 1, 3)]


@pytest.mark.parametrize("name", retrievers.names())
def test_a_ranking_does_not_depend_on_the_order_of_its_input(name: str) -> None:
    queries, codes = QUERIES.copy(), CODES.copy()
    random.Random(1).shuffle(queries)
    random.Random(2).shuffle(codes)
    shuffled = set(retrievers.get(name)().rank(queries, codes, 4).rows())
    assert shuffled == set(retrievers.get(name)().rank(QUERIES, CODES, 4).rows())


@pytest.mark.parametrize("name", retrievers.names())
def test_a_query_of_unknown_words_ties_everything_and_ties_fall_by_id(name: str) -> None:
    rankings = retrievers.get(name)().rank([Query.of("zzz qqq")], CODES, 5)
    assert [code for _, code, _ in rankings.rows()] == sorted(code.code_id for code in CODES)
    assert set(rankings.scores.ravel()) == {0.0}
