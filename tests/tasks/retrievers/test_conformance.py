"""Laws that every registered retrieval method keeps (bag_of_words, bm25 and tf_idf among them).

Covers `tasks.retrievers.*`.
"""

import random

import pytest

from infra.records import Code, Query
from tasks.benchmarks.runs import NOTHING, rankings_of
from tasks.metrics import evaluate
from tasks.ranking.fusion import fuse
from tasks.retrievers import retrievers

RANK_ALL = {"bow-sklearn"}  # as its authors' code does

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


@pytest.mark.parametrize("name", sorted({*retrievers.names()} - RANK_ALL))
def test_only_codes_that_share_a_word_with_the_query_are_ranked(name: str) -> None:
    rankings = retrievers.get(name)().rank([Query.of("zzz qqq"), Query.of("sorted")], CODES, 5)
    assert [code for _, code, _ in rankings.rows()] == [CODES[1].code_id]
    assert rankings.scores[rankings.codes == NOTHING].tolist() == [0.0] * 9


@pytest.mark.parametrize("name", sorted(RANK_ALL))
def test_a_method_that_ranks_all_ranks_what_shares_no_word_last_and_by_id(name: str) -> None:
    rankings = retrievers.get(name)().rank([Query.of("zzz qqq"), Query.of("sorted")], CODES, 5)
    ids = sorted(code.code_id for code in CODES)
    sought = CODES[1].code_id
    expected = [*ids, sought, *(code for code in ids if code != sought)]
    assert [code for _, code, _ in rankings.rows()] == expected


@pytest.mark.parametrize("name", sorted({*retrievers.names()} - RANK_ALL))
def test_a_method_that_finds_nothing_scores_nothing_alone_and_adds_nothing_fused(
    name: str,
) -> None:
    query = Query.of("zebra")
    rankings = retrievers.get(name)().rank([query], CODES, 5)
    qrels = {str(query.query_id): {min(str(code.code_id) for code in CODES): 1.0}}
    scores = evaluate(rankings, qrels, ["MRR", "NDCG@10"])
    assert scores == {"MRR": {query.query_id: 0.0}, "NDCG@10": {query.query_id: 0.0}}
    other = rankings_of({query.query_id: {CODES[4].code_id: 1.0}})
    assert list(fuse([rankings, other], 5).rows()) == list(fuse([other], 5).rows())
