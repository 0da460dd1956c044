"""Laws of near duplicates, which exact similarities decide.

Covers `tasks.filters.near_duplicates` and `tasks.filters.marked_near_duplicates`.
"""

import random
from collections import Counter
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra.records import Code
from tasks.corpus.functions import find_functions
from tasks.corpus.source_files import standard_library
from tasks.filters import CorpusFunction
from tasks.filters.marked_near_duplicates import MarkedNearDuplicates
from tasks.filters.near_duplicates import FEWEST_IDENTIFIERS, NEAR, NearDuplicates, identifiers

NAMES = [f"name{number}" for number in range(20)]


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
    assert are_near(Counter(NAMES), Counter(other)) is near, "the oracle below"
    found = near_duplicates([code(2 * NAMES), code(2 * other)])  # enough to be compared
    assert found == ({1} if near else set())


def test_short_functions_are_not_compared() -> None:
    assert near_duplicates([code(NAMES[:19])] * 2) == set()
    assert near_duplicates([code(NAMES)] * 2) == {1}


def test_a_function_that_calls_another_name_is_no_near_duplicate() -> None:
    body = " + ".join(NAMES)
    gcd, lcm, same, recursive = (
        f"def {name}(first, second):\n    return {called}({body})"
        for name, called in (("gcd", "abs"), ("lcm", "gcd"), ("g", "abs"), ("f", "f"))
    )
    assert near_duplicates([gcd, lcm, same, recursive]) == {2}


@pytest.mark.parametrize("rule", [NearDuplicates, MarkedNearDuplicates])
def test_each_near_duplicate_is_named_with_its_twin_and_the_setting(
    rule: type[NearDuplicates],
) -> None:
    near = rule()
    for number in range(3):
        text = code([*NAMES, f"own{number}"])
        record = Code.of(text, origin=f"a.py:{number}", name=f"C.f{number}")
        assert bool(near.reason_to_drop(CorpusFunction(record, None))) == (
            rule is NearDuplicates and number > 0
        )
    *twins, setting = near.notes
    assert twins == [
        f"C.f{number} (a.py:{number}) is a near duplicate of C.f0 (a.py:0)" for number in (1, 2)
    ]
    state, other = ("left out", "marked-") if rule is NearDuplicates else ("kept", "")
    assert setting.startswith(f"near duplicates that are {state}: 2; to ")
    assert setting.endswith(f" name {other}near-duplicates in source.filters")
    assert rule().notes == []


def test_of_a_chain_only_what_is_near_to_one_that_stays_is_dropped() -> None:
    chain = [NAMES[start : start + 18] for start in range(3)]  # neighbours 17/19, ends 16/20
    apart = [*NAMES[3:], "other"]
    assert near_duplicates([code(2 * names) for names in [*chain, apart]]) == {1, 2}


def are_near(one: Counter[str], other: Counter[str]) -> bool:
    shared, either = len(one.keys() & other.keys()), len(one.keys() | other.keys())
    shares, total = (one & other).total(), (one | other).total()
    return 10 * shared >= 8 * either and 10 * shares >= 7 * total


def dropped_by_comparing_all(bags: list[Counter[str]]) -> set[int]:
    kept: list[Counter[str]] = []
    dropped = set()
    for row, bag in enumerate(bags):
        if bag.total() < FEWEST_IDENTIFIERS:
            continue
        if any(are_near(bag, earlier) for earlier in kept):
            dropped.add(row)
        else:
            kept.append(bag)
    return dropped


@pytest.mark.parametrize("first_order", [1, 256])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=24), max_size=30))
def test_what_is_dropped_is_what_comparing_all_pairs_drops(
    monkeypatch: pytest.MonkeyPatch, first_order: int, functions: list[list[str]]
) -> None:
    monkeypatch.setattr("tasks.filters.near_duplicates._FIRST_ORDER", first_order)
    monkeypatch.setattr("tasks.filters.near_duplicates._BAGS_AT_ONCE", 4)
    assert near_duplicates([code(names) for names in functions]) == dropped_by_comparing_all(
        [Counter(names) for names in functions]
    )


def test_mutated_copies_among_many_functions_are_found_as_by_comparing_all() -> None:
    drawn = random.Random(7)
    names = [f"name{number}" for number in range(400)]
    functions = [
        drawn.choices(names, [1 / (n + 1) for n in range(400)], k=drawn.randint(8, 40))
        for _ in range(250)
    ]
    copies = [[drawn.choice(names) if drawn.random() < 0.08 else n for n in f] for f in functions]
    mixed = drawn.sample(functions + copies, 500)
    dropped = near_duplicates([code(function) for function in mixed])
    assert dropped == dropped_by_comparing_all([Counter(function) for function in mixed])
    assert len(dropped) > 50


@pytest.mark.nightly
def test_of_the_standard_library_as_many_are_dropped_as_by_comparing_all() -> None:
    found = islice(find_functions(standard_library(), Counter()), 0, None, 12)
    texts = list(dict.fromkeys(function.code.text for function in found))
    expected = dropped_by_comparing_all([identifiers(text) for text in texts])
    assert near_duplicates(texts) == expected
