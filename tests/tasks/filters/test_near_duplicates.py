"""Laws of near duplicates, which exact similarities decide."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.records import Code
from tasks.filters import CorpusFunction
from tasks.filters.near_duplicates import NEAR, NearDuplicates, are_near, identifiers, similarity

NAMES = [f"name{number}" for number in range(20)]
bags = st.lists(st.sampled_from("abcdef"), max_size=20).map(Counter)


def code(names: list[str]) -> str:
    return "\n".join(names)


def near_duplicates(texts: list[str]) -> set[int]:
    """Return the rows that the filter drops."""
    near = NearDuplicates()
    functions = [CorpusFunction(Code.of(text), None) for text in texts]
    reasons = [near.reason_to_drop(function) for function in functions]
    assert set(reasons) <= {None, NEAR}
    return {row for row, reason in enumerate(reasons) if reason}


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("def f(x): return x", {"f": 1, "x": 2}),
        ("a.b # c", {"a": 1, "b": 1}),
        ("""a = "b 'c' \\" d" + e""", {"a": 1, "e": 1}),
        ("a = rb'''b\nc''' + f'{d}'", {"a": 1}),
        ("größe = 1e3 + 0xff", {"größe": 1}),
        ("'never closed\nx", {"never": 1, "closed": 1, "x": 1}),
    ],
)
def test_identifiers_are_names_outside_strings_and_comments(
    text: str, counts: dict[str, int]
) -> None:
    assert identifiers(text) == counts


@given(bags, bags)
def test_similarity_is_symmetric_and_one_for_equal_bags_only(
    one: Counter[str], other: Counter[str]
) -> None:
    value = similarity(one, other)
    assert value == similarity(other, one)
    assert 0 <= value <= 1
    assert (value == 1) == (one == other)


@pytest.mark.parametrize(
    ("other", "near"),
    [
        (NAMES, True),
        (NAMES[:16], True),  # 16 of 20
        (NAMES[:15], False),  # 15 of 20
        (NAMES + NAMES[:8], True),  # the same set, 20 of 28 in the multiset
        (NAMES + NAMES[:9], False),  # the same set, 20 of 29 in the multiset
    ],
)
def test_both_similarities_must_reach_their_thresholds(other: list[str], near: bool) -> None:
    assert are_near(Counter(NAMES), Counter(other)) is near
    assert near_duplicates([code(NAMES), code(other)]) == ({1} if near else set())


def test_short_functions_are_not_compared() -> None:
    assert near_duplicates([code(NAMES[:9])] * 2) == set()
    assert near_duplicates([code(NAMES[:10])] * 2) == {1}


def test_of_a_chain_only_what_is_near_to_one_that_stays_is_dropped() -> None:
    chain = [NAMES[start : start + 18] for start in range(3)]  # neighbours 17/19, ends 16/20
    apart = [*NAMES[3:], "other"]
    assert near_duplicates([code(names) for names in [*chain, apart]]) == {1, 2}


@settings(max_examples=25, deadline=None, derandomize=True)  # MinHash may miss one in 5,000
@given(st.lists(st.lists(st.sampled_from(NAMES), min_size=10, max_size=24), max_size=12))
def test_no_two_that_stay_are_near_and_each_that_goes_is_near_to_one(
    functions: list[list[str]],
) -> None:
    texts = [code(names) for names in functions]
    dropped = near_duplicates(texts)
    kept = [identifiers(text) for row, text in enumerate(texts) if row not in dropped]
    assert not any(are_near(one, other) for one, other in combinations(kept, 2))
    for row in dropped:
        assert any(are_near(identifiers(texts[row]), bag) for bag in kept)
