"""Laws of claims that travel: what one candidate's judges found out is asked of all.

Covers `agents.committee.travelling`, `agents.committee.comparison`, `agents.committee.told`.
"""

from typing import Any, Literal

import pytest

from agents.claims.claim import Claim
from agents.committee.duplicates import taken_over
from agents.committee.told import told_by
from agents.committee.travelling import QueryBehaviour, travel
from infra.languages.python import Python
from infra.records import Annotation, Code, Pair
from tests.agents.committee.test_specified import (
    ADAPTER,
    ANSWERS,
    EXAMPLES,
    QUERY,
    RIGHT,
    WRONG,
    screened,
    specified,
    valued,
)
from tests.agents.conftest import Bench, rule
from tests.real_sandbox import real_sandbox
from tests.sandbox.conftest import LIMITS

pytestmark = pytest.mark.docker

FEW = "[1, 2], 1 => [2, 1]\n[1], 0 => [1]\n[], 0 => []"  # they show nothing beyond the length
TWIN = WRONG.replace("items", "values").replace("(values, n)", "(values, n=1)")
FALLS_SHORT = rule("claims_arbiter", {"reply": {"reason": "no", "verdict": "does_not_answer"}})


def said(code: str, step: dict[str, Any]) -> dict[str, Any]:
    return {**step, "code": code}


async def behaviour(
    bench: Bench, codes: list[str], script: list[dict[str, Any]]
) -> tuple[list[Annotation], QueryBehaviour]:
    bench.serve(script)
    pairs = [Pair(query=QUERY, code=Code.of(code)) for code in codes]
    async with real_sandbox(LIMITS) as sandbox:
        committee = bench.committee(sandbox, configuration="spec")
        judged = [(pair, await committee.judge(pair)) for pair in pairs]
        found = await travel(judged, sandbox, Python())
    assert found is not None
    assert [one.code_id for one in found.codes] == [pair.code.code_id for pair in pairs]
    return [annotation for _, annotation in judged], found


def labels(found: QueryBehaviour) -> list[tuple[Literal[0, 1] | None, Literal[0, 1] | None]]:
    return [(one.label, one.agreed) for one in found.codes]


async def test_a_call_that_shows_the_mistake_of_one_code_shows_that_of_another(
    bench: Bench,
) -> None:
    shows = "[1, 2, 3], 4 => [2, 3, 1]"
    script = [
        specified(examples=FEW),
        said("return values", screened("clear_non_match", ADAPTER, shows)),
        screened("clear_match"),
        valued("[2, 3, 1]"),
    ]
    _, found = await behaviour(bench, [RIGHT, WRONG, TWIN], script)
    assert labels(found) == [(1, 1), (1, 0), (0, 0)]
    assert "[1, 2, 3], 4" in found.codes[1].reason
    assert "where [2, 3, 1] is demanded" in found.codes[1].reason
    assert (found.codes[0].reason, found.codes[2].reason) == ("", "")
    assert found.codes[0].outcomes == ("held",) * 4
    assert found.codes[1].behaviour == found.codes[2].behaviour != found.codes[0].behaviour
    assert found.consistency == 0, "two codes that behave alike had other labels of their own"


async def test_a_duplicate_has_no_vote_and_follows_the_label_of_the_code_judged(
    bench: Bench,
) -> None:
    shows = "[1, 2, 3], 4 => [2, 3, 1]"
    bench.serve(
        [
            specified(examples=FEW),
            said("return values", screened("clear_non_match", ADAPTER, shows)),
            screened("clear_match"),
            valued("[2, 3, 1]"),
        ]
    )
    pairs = [Pair(query=QUERY, code=Code.of(code)) for code in (RIGHT, WRONG, TWIN)]
    copy = Pair(query=QUERY, code=Code.of(f"# the same\n{WRONG}"))
    async with real_sandbox(LIMITS) as sandbox:
        committee = bench.committee(sandbox, configuration="spec")
        judged = [(pair, await committee.judge(pair)) for pair in pairs]
        without = await travel(judged, sandbox, Python())
        duplicate = taken_over(judged[1][1], copy.code.code_id)
        found = await travel([(copy, duplicate), *judged], sandbox, Python())
    assert without
    assert found
    assert found.codes[1:] == without.codes
    assert found.consistency == without.consistency
    assert found.codes[0] == without.codes[1].model_copy(update={"code_id": copy.code.code_id})
    assert labels(found) == [(1, 0), (1, 1), (1, 0), (0, 0)]


async def test_a_claim_that_no_code_holds_takes_no_label_away(bench: Bench) -> None:
    shows = "[1, 2, 3], 1 => [3, 1, 2]"
    script = [
        specified(examples=FEW),
        said("return values", screened("clear_non_match", ADAPTER, shows)),
        screened("clear_match"),
        valued("[3, 1, 2]"),
    ]
    _, found = await behaviour(bench, [RIGHT, TWIN], script)
    assert labels(found) == [(1, 1), (0, 0)]


async def test_a_reading_gives_way_to_labels_of_codes_that_behave_alike(bench: Bench) -> None:
    # The screener is sure of the first one; with an adapter it would have been run.
    script = [
        specified(),
        said("# third", screened("clear_match")),
        said("# second", screened("clear_match")),
        said("# first", screened("clear_non_match")),
        FALLS_SHORT,
    ]
    codes = [f"{RIGHT}  # {name}" for name in ("first", "second", "third")]
    annotations, found = await behaviour(bench, codes, script)
    assert [one.path for one in annotations] == ["claims_disputed", "claims_hold", "claims_hold"]
    assert labels(found) == [(0, 0), (1, 1), (1, 1)], "what an arbiter decided stands"
    assert len({one.behaviour for one in found.codes}) == 1
    assert all("another label" in one.reason for one in found.codes)
    assert found.consistency == pytest.approx(1 / 3)


async def test_codes_of_one_behaviour_and_label_need_no_reason(bench: Bench) -> None:
    script = [specified(), screened("clear_match"), ANSWERS]
    _, found = await behaviour(bench, [RIGHT, f"# same\n{RIGHT}"], script)
    assert found.consistency == 1
    assert {one.reason for one in found.codes} == {""}
    assert [str(claim) for claim in found.claims] == EXAMPLES.splitlines()


async def test_refuted_claims_do_not_travel(bench: Bench) -> None:
    script = [
        specified(examples=f"[1, 2], 1 => [1, 2]\n{EXAMPLES}"),
        screened("clear_match"),
        valued("[2, 1]"),
    ]
    (annotation,), found = await behaviour(bench, [RIGHT], script)
    told = told_by(annotation)
    assert told.refuted == {Claim(arguments="[1, 2], 1", value="[1, 2]")}
    assert told.confirmed == frozenset()
    assert [str(claim) for claim in found.claims] == EXAMPLES.splitlines()


async def test_code_that_never_ends_on_a_probe_is_known_by_its_claims(bench: Bench) -> None:
    code = RIGHT.replace("    n = n", "    while n < 0 or n > 9:\n        pass\n    n = n", 1)
    _, found = await behaviour(bench, [code], [specified(), screened("clear_match")])
    assert found.codes[0].outcomes == ("held",) * 4


async def test_what_differs_from_run_to_run_is_no_part_of_a_behaviour(bench: Bench) -> None:
    chance = [
        RIGHT.replace("    n = n", f"    if n < 0:\n        return [hash({text!r})]\n    n = n", 1)
        for text in ("one", "other")
    ]
    _, found = await behaviour(bench, [*chance, RIGHT], [specified(), screened("clear_match")])
    first, second, without = (one.behaviour for one in found.codes)
    assert first == second != without


async def test_pairs_that_were_judged_without_claims_have_no_behaviour() -> None:
    pair = Pair(query=QUERY, code=Code.of(RIGHT))
    annotation = Annotation(
        query_id=pair.query.query_id,
        code_id=pair.code.code_id,
        recipe_id="recipe",
        status="labelled",
        label=1,
        path="clear_match",
        support="screened",
    )
    async with real_sandbox(LIMITS) as sandbox:
        assert await travel([(pair, annotation)], sandbox, Python()) is None
