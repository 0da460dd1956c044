"""Laws that every registered retrieval method keeps (bag_of_words, bm25 and tf_idf among them).

Covers `tasks.retrievers.*`.
"""

import random
from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

import pytest

from infra.records import Code, Query
from tasks.benchmarks.runs import NOTHING, Rankings, rankings_of
from tasks.metrics import evaluate
from tasks.ranking.methods import fuse
from tasks.retrievers import Retriever, retrievers

RANK_ALL = {"bow-sklearn"}  # as its authors' code does
BY_WORDS = [name for name in retrievers.names() if name not in RANK_ALL]


class ByMeaning:
    """A method that has a score for every code, below nought too, as cosines are."""

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        return rankings_of(
            {
                query.query_id: dict(
                    sorted(
                        ((code.code_id, _closeness(query.text, code.text)) for code in codes),
                        key=lambda item: (-item[1], item[0]),
                    )[:depth]
                )
                for query in queries
            }
        )


def _closeness(query: str, code: str) -> float:
    """Return how many pairs of letters two texts share, less a half."""
    one, other = (set(pairwise(text.lower())) for text in (query, code))
    return round(len(one & other) / len(one) - 0.5, 3)


METHODS: dict[str, type[Retriever]] = {
    **{name: retrievers.get(name) for name in retrievers.names()},
    "by meaning": ByMeaning,
}

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


@pytest.mark.parametrize("name", METHODS)
def test_a_method_finds_the_code_that_says_the_same_words(name: str) -> None:
    rankings = METHODS[name]().rank(QUERIES, CODES, 3)
    best = {query: code for query, code, _ in reversed(list(rankings.rows()))}
    right = zip(QUERIES, (CODES[n] for n in (0, 1, 3)), strict=True)
    assert best == {query.query_id: code.code_id for query, code in right}


@pytest.mark.parametrize("name", METHODS)
def test_a_ranking_does_not_depend_on_the_order_of_its_input(name: str) -> None:
    queries, codes = QUERIES.copy(), CODES.copy()
    random.Random(1).shuffle(queries)
    random.Random(2).shuffle(codes)
    shuffled = set(METHODS[name]().rank(queries, codes, 4).rows())
    assert shuffled == set(METHODS[name]().rank(QUERIES, CODES, 4).rows())


@pytest.mark.parametrize("depth", [1, 3, 5, 50])
@pytest.mark.parametrize("name", METHODS)
def test_a_code_stands_once_scores_are_finite_and_fall_and_ties_go_by_id(
    name: str, depth: int
) -> None:
    queries = [*QUERIES, Query.of("zzz qqq"), Query.of("return b + a")]
    known = {code.code_id for code in CODES}
    rankings = METHODS[name]().rank(queries, CODES, depth)
    by_query: dict[str, list[tuple[float, str]]] = {}
    for query, code, score in rankings.rows():
        by_query.setdefault(query, []).append((-score, code))
    assert by_query.keys() <= {query.query_id for query in queries}
    for ranked in by_query.values():
        assert len(ranked) <= depth
        assert ranked == sorted(ranked)
        assert all(isfinite(score) for score, _ in ranked)
        assert len({code for _, code in ranked}) == len(ranked)
        assert {code for _, code in ranked} <= known
    assert not rankings.scores[rankings.codes == NOTHING].any()


@pytest.mark.parametrize("name", BY_WORDS)
def test_only_codes_that_share_a_word_with_the_query_are_ranked(name: str) -> None:
    rankings = METHODS[name]().rank([Query.of("zzz qqq"), Query.of("sorted")], CODES, 5)
    assert [code for _, code, _ in rankings.rows()] == [CODES[1].code_id]
    assert not rankings.scores[rankings.codes == NOTHING].any()


@pytest.mark.parametrize("name", sorted(RANK_ALL))
def test_a_method_that_ranks_all_ranks_what_shares_no_word_last_and_by_id(name: str) -> None:
    rankings = METHODS[name]().rank([Query.of("zzz qqq"), Query.of("sorted")], CODES, 5)
    ids = sorted(code.code_id for code in CODES)
    sought = CODES[1].code_id
    expected = [*ids, sought, *(code for code in ids if code != sought)]
    assert [code for _, code, _ in rankings.rows()] == expected


@pytest.mark.parametrize("name", BY_WORDS)
def test_a_method_that_finds_nothing_scores_nothing_alone_and_adds_nothing_fused(
    name: str,
) -> None:
    query = Query.of("zebra")
    rankings = METHODS[name]().rank([query], CODES, 5)
    qrels = {str(query.query_id): {min(str(code.code_id) for code in CODES): 1.0}}
    scores = evaluate(rankings, qrels, ["MRR", "NDCG@10"])
    assert scores == {"MRR": {query.query_id: 0.0}, "NDCG@10": {query.query_id: 0.0}}
    other = rankings_of({query.query_id: {CODES[4].code_id: 1.0}})
    assert list(fuse([rankings, other], 5).rows()) == list(fuse([other], 5).rows())
