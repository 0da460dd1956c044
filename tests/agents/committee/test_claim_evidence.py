"""Laws of what claims that a code holds are worth, where nothing has to be run to see it.

Covers `agents.committee.specified`, `agents.committee.comparison`.
"""

import pytest

from agents.claims.claim import Claim, claims_in
from agents.claims.program import ClaimRun
from agents.committee.comparison import Candidate
from agents.committee.specified import ClaimEvidence
from agents.committee.told import Told
from infra.records import Annotation, Code, Pair, Query

SORTED_DICTIONARIES = "{'a': 3, 'b': 1} => {'b': 1, 'a': 3}\n{} => {}\n{'x': 5} => {'x': 5}"
LISTS_OF_TUPLES = "(1, 2) => [1, 2]\n() => []\n('a', 'b') => ['a', 'b']"
SQUARES = "1 => 1\n0 => 0\n3 => 9"


def held(examples: str) -> tuple[ClaimRun, ...]:
    return tuple(ClaimRun(claim=claim, outcome="held") for claim in claims_in(examples, 8))


@pytest.mark.parametrize("examples", [SORTED_DICTIONARIES, LISTS_OF_TUPLES])
def test_claims_that_the_argument_itself_holds_speak_for_no_code(examples: str) -> None:
    assert not ClaimEvidence(runs=held(examples), is_valid=True).speaks_for


@pytest.mark.parametrize(
    "examples",
    [SQUARES, f"{LISTS_OF_TUPLES}\n(1,) => 1", f"{LISTS_OF_TUPLES}\n1 => raises TypeError"],
)
def test_one_claim_that_needs_work_is_enough_beside_others(examples: str) -> None:
    assert ClaimEvidence(runs=held(examples), is_valid=True).speaks_for


def test_the_screeners_own_claim_is_not_the_one_that_needs_work() -> None:
    own = Claim(arguments="3", value="9")
    runs = (*held(LISTS_OF_TUPLES), ClaimRun(claim=own, outcome="held"))
    assert not ClaimEvidence(runs=runs, is_valid=True, tried=(own,)).speaks_for


@pytest.mark.parametrize(
    ("claim", "needs_work"),
    [
        ("[3, 1], 2 => [1, 3]", True),
        ("[1, 3], 2 => [1, 3]", False),
        ("[1, 3], 2 => 2", False),
        ("[1, 3], 2 => (1, 3)", False),
        ("1.0 => 1", False),
        ("=> 1", True),
        ("datetime.date(2020, 1, 2) => datetime.date(2020,1,2)", False),
        ("datetime.date(2020, 1, 2) => '2020-01-02'", True),
    ],
)
def test_a_claim_needs_work_where_no_argument_is_its_value(claim: str, needs_work: bool) -> None:
    (read,) = claims_in(claim, 1)
    assert read.needs_work is needs_work


@pytest.mark.parametrize(("examples", "is_known"), [(SORTED_DICTIONARIES, False), (SQUARES, True)])
def test_codes_are_of_one_behaviour_only_by_values_that_need_work(
    examples: str, is_known: bool
) -> None:
    pair = Pair(query=Query.of("q"), code=Code.of("def f(x): return x"))
    annotation = Annotation(
        query_id=pair.query.query_id, code_id=pair.code.code_id, recipe_id="r",
        status="labelled", label=1, path="clear_match", support="screened",
    )  # fmt: skip
    candidate = Candidate(pair, annotation, Told(), runs=held(examples))
    assert bool(candidate.behaviour) is is_known
