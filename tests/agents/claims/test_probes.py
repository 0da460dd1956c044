"""Laws of probes: new calls near those of claims, the same ones each time, and bounded."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.claims.claim import Claim, are_arguments
from agents.claims.probes import probes_of
from tests.agents.claims.test_claim import VALUES

CLAIMS = (Claim(arguments="[3, 1], 2", value="1"), Claim(arguments="'ab', {'a': 1}", value="2"))


@given(st.lists(st.lists(VALUES, min_size=1, max_size=2), max_size=3), st.integers(0, 30))
def test_probes_are_calls_that_no_claim_makes(calls: list[list[object]], most: int) -> None:
    claims = [Claim(arguments=", ".join(map(repr, call)), value="1") for call in calls]
    probes = probes_of(claims, most)
    assert probes == probes_of(claims, most)
    assert len(set(probes)) == len(probes) <= most
    for probe in probes:
        assert are_arguments(probe)
        assert probe not in {claim.arguments for claim in claims}
        assert len(ast.literal_eval(f"({probe},)")) in {len(call) for call in calls}


def test_each_argument_of_each_claim_is_changed() -> None:
    probes = probes_of(CLAIMS, 40)
    assert {"[1, 3], 2", "[], 2", "[3, 1], 3", "[3, 1], 0", "'', {'a': 1}", "'ab', {}"} <= {*probes}
    assert probes[:2] == ("[1, 3], 2", "'', {'a': 1}"), "in turn"


@pytest.mark.parametrize("arguments", ["", "open('x')", "None", "date(2020, 1, 1)"])
def test_arguments_without_literals_near_them_give_no_probe(arguments: str) -> None:
    assert probes_of([Claim(arguments=arguments, value="1")], 9) == ()
