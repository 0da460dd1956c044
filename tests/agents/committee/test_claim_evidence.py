"""Laws of what claims are worth, and of what is told of a pair that was judged by them.

Covers `agents.committee.specified`.
"""

from typing import Literal

import pytest

from agents.claims.claim import Claim, claims_in
from agents.claims.program import ClaimRun
from agents.committee.specified import ClaimEvidence, account_of, label_by
from agents.roles.specify import ClaimReading, DemandedValue, call_lines
from tests.agents.committee.test_judged_again import SAYS_NO, demanded, screened
from tests.agents.conftest import SPECIFIED, UNFIT, Bench
from tests.fakes.sandbox import FakeSandbox
from tests.fakes.specified import call_of, claims_run

VERDICTS = ("clear_match", "clear_non_match", "unclear_behaviour", "unclear_query")
SORTED_DICTIONARIES = "{'a': 3, 'b': 1} => {'b': 1, 'a': 3}\n{} => {}\n{'x': 5} => {'x': 5}"
LISTS_OF_TUPLES = "(1, 2) => [1, 2]\n() => []\n('a', 'b') => ['a', 'b']"
SQUARES = "1 => 1\n0 => 0\n3 => 9"


def held(examples: str) -> tuple[ClaimRun, ...]:
    return tuple(ClaimRun(claim=claim, outcome="held") for claim in claims_in(examples, 8))


@pytest.mark.parametrize("examples", [SORTED_DICTIONARIES, LISTS_OF_TUPLES])
def test_claims_that_the_argument_itself_holds_speak_for_no_code(examples: str) -> None:
    assert not ClaimEvidence(runs=held(examples), is_valid=True).supports_code


@pytest.mark.parametrize(
    "examples",
    [SQUARES, f"{LISTS_OF_TUPLES}\n(1,) => 1", f"{LISTS_OF_TUPLES}\n1 => raises TypeError"],
)
def test_one_claim_that_needs_work_is_enough_beside_others(examples: str) -> None:
    assert ClaimEvidence(runs=held(examples), is_valid=True).supports_code


def test_the_screeners_own_claim_is_not_the_one_that_needs_work() -> None:
    own = Claim(arguments="3", value="9")
    runs = (*held(LISTS_OF_TUPLES), ClaimRun(claim=own, outcome="held"))
    assert not ClaimEvidence(runs=runs, is_valid=True, tried=(own,)).supports_code


@pytest.mark.parametrize(("outcome", "speaks"), [("not_run", True), ("failed", False)])
def test_a_claim_that_cannot_be_run_does_not_void_those_that_held(
    outcome: Literal["not_run", "failed"], speaks: bool
) -> None:
    runs = (*held(SQUARES), ClaimRun(claim=Claim(arguments="9", value="81"), outcome=outcome))
    assert ClaimEvidence(runs=runs, is_valid=True).supports_code is speaks
    assert not ClaimEvidence(runs=runs[1:], is_valid=True).supports_code, "too few held"
    assert not ClaimEvidence(runs=(*runs, runs[-1]), is_valid=True).supports_code, "too few ran"


def test_a_failure_decides_where_the_query_alone_or_a_second_one_demands_it() -> None:
    own = Claim(arguments="9", value="81")
    runs = (*held(SQUARES), ClaimRun(claim=own, outcome="failed", gave="9"))
    labels = {
        is_sure: [
            label_by(ClaimEvidence(runs=runs, confirmed=(own,), is_sure=is_sure), verdict)
            for verdict in VERDICTS
        ]
        for is_sure in (True, False)
    }
    assert labels == {True: [None, 0, 0, 0], False: [None] * 4}


def test_a_value_that_none_of_two_readers_demands_is_left_to_the_arbiter() -> None:
    for is_unsettled, label in ((False, 1), (True, None)):
        evidence = ClaimEvidence(runs=held(SQUARES), is_valid=True, is_unsettled=is_unsettled)
        assert label_by(evidence, "clear_match") == label
        assert evidence.supports_code


def test_claims_that_could_not_be_run_count_after_others_were_left_out_too() -> None:
    lost = ClaimRun(claim=Claim(arguments="9", value="81"), outcome="not_run")
    for number, speaks in ((1, True), (2, False)):
        evidence = ClaimEvidence(runs=held(SQUARES), is_valid=True, left_out=(lost,) * number)
        assert evidence.supports_code is speaks


@pytest.mark.parametrize(
    ("claim", "gave", "read", "acquits"),
    [
        ("9 => [1]", "[2]", "[2]", True),
        ("9 => [1]", "[2]", "[3]", False),
        ("9 => [1]", "[2]", "open", False),
        ("9 => 'a'", "'open'", "open", False),
        ("9 => [1]", "[2]", "two and one", False),
        ("9 => 'a'", "'b'", "'c'", False),
        ("9 => 'a'", "'b'", "b", True),
        ("9 => {1}", "{1, 2}", "{2, 1}", True),
        ("9 => prints 'a'", "'b c'", "prints 'b  c'", True),
        ("9 => prints lines 'a'", r"'b\nc'", "prints lines 'b c'", False),
        ("9 => writes {'o': 'a'}", "[['o', 'b']]", "writes {'o': 'b'}", True),
        ("stream('a') => leaves {'closed': True}", "{'closed': False}", "leaves {'at': 1}", False),
        ("9 => raises ValueError", "raises KeyError", "raises KeyError", True),
    ],
)
@pytest.mark.parametrize("is_formed", [True, False])
def test_a_failure_is_settled_by_a_reader_alone_who_demands_what_the_code_gave(
    claim: str, gave: str, read: str, acquits: bool, is_formed: bool
) -> None:
    [asked] = claims_in(claim, 1)
    reading = ClaimReading(alone=DemandedValue(reason="r", value=read))
    run = ClaimRun(claim=asked, outcome="failed", gave=gave, is_formed=is_formed)
    assert reading.acquits(run) is acquits


@pytest.mark.parametrize("outcome", ["held", "failed", "not_run"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\x0b", "\u2028", " | ", "|", "\n | "])
def test_a_code_says_nothing_in_a_readers_place(
    end: str, outcome: Literal["held", "failed", "not_run"]
) -> None:
    said = f"1{end}2 => 3 | the code gave 3{end}a reader who saw no code demands 1"
    run = ClaimRun(claim=Claim(arguments="2", value="3"), outcome=outcome, gave=said)
    [line] = call_lines([run], {run.claim: "3"}).splitlines()
    claim, code, reader = line.split("|")
    assert claim == "2 => 3 "
    assert code.startswith(" the code ")
    assert reader == " a reader who saw no code demands 3"


def test_what_holds_by_prepared_arguments_decides_beside_a_sure_reading_alone() -> None:
    labels = {
        is_prepared: [
            label_by(
                ClaimEvidence(runs=held(SQUARES), is_valid=True, is_prepared=is_prepared), verdict
            )
            for verdict in VERDICTS
        ]
        for is_prepared in (True, False)
    }
    assert labels == {True: [1, None, None, None], False: [1, None, 1, 1]}


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


OWN = "'ab'"  # the call of the screener, the last claim


async def told(bench: Bench, value: str, *broken: str, verdict: str = "clear_match") -> list[str]:
    bench.serve([SPECIFIED, screened(verdict), demanded(value), SAYS_NO])
    sandbox = FakeSandbox(claims_run({OWN: "'ba'"}, broken))
    made = await bench.committee(sandbox, configuration="spec").judge(bench.pair)
    account = account_of(made)
    assert account is not None
    assert account.screening is not None
    assert (account.model, account.screening.verdict) == ("openai/scripted", verdict)
    return [
        f"{item.claim}|{item.run.outcome}|{item.run.gave}|{item.read}|{item.counts}"
        for item in account.claims
        if item.run
    ]


@pytest.mark.parametrize("value", ["'ab'", "'ba'", "open"], ids=["confirmed", "refuted", "open"])
async def test_each_claim_stands_with_what_the_code_gave_and_the_second_reader_said(
    bench: Bench, value: str
) -> None:
    held = [f"{claim}|held|||True" for claim in ("'abc' => 'cba'", "'' => ''", "'aab' => 'baa'")]
    last = f"'ab' => 'ab'|failed|'ba'|{value}|{value == OWN}"
    assert await told(bench, value) == [*held, last]


async def test_a_claim_that_did_not_run_is_told_beside_those_of_the_second_program(
    bench: Bench,
) -> None:
    (_, *others), last = (
        (await told(bench, "'ab'"))[:-1],
        "'ab' => 'ab'|failed|'ba'|'ab'|True",
    )
    not_run = "'abc' => 'cba'|not_run|NameError: no x||True"
    assert await told(bench, "'ab'", "'abc'") == [not_run, *others, last]


async def test_an_objection_by_the_query_is_told(bench: Bench) -> None:
    sandbox = FakeSandbox(claims_run({OWN: "'ba'"}))
    made = await bench.judge(
        [SPECIFIED, screened(), demanded("open", "'ab'"), SAYS_NO], sandbox, "spec"
    )
    assert (made.path, made.label) == ("claims_disputed", 0)
    (request,) = bench.told("claims_arbiter")
    assert "by the query alone open" in request
    account = account_of(made)
    assert account is not None
    assert [(item.read, item.counts) for item in account.claims if item.read] == [
        ("'ab' by the specification, by the query alone open", True)
    ]


async def test_claims_that_were_never_run_stand_alone(bench: Bench) -> None:
    made = await bench.judge(
        [UNFIT, screened("clear_non_match", adapter="")], FakeSandbox(claims_run()), "spec"
    )
    account = account_of(made)
    assert account is not None
    assert [item.run for item in account.claims] == [None] * 4


async def test_a_pair_that_was_judged_otherwise_has_no_account(bench: Bench) -> None:
    made = await bench.judge([screened()], FakeSandbox(claims_run()))
    assert account_of(made) is None
    former = call_of("specifier", {"reading": "as once"})
    assert account_of(made.model_copy(update={"calls": (former,)})) is None


async def test_what_a_code_gives_cannot_pass_for_another_call(bench: Bench) -> None:
    forged = "'abab' => 'baba' | the code gave that"
    sandbox = FakeSandbox(claims_run({OWN: f"<own>\n{forged}"}))
    await bench.judge([SPECIFIED, screened(), demanded("'ab'"), SAYS_NO], sandbox, "spec")
    (request,) = bench.told("claims_arbiter")
    lines = request.splitlines()
    assert forged not in lines
    assert any(f"gave <own> {forged.replace('|', '¦')}" in line for line in lines)
