"""Comparing a query's candidates by what they give: which labels give way."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

from agents.claims.claim import Claim
from agents.claims.program import ClaimRun
from agents.committee.told import Told
from infra.identity import mark_of
from infra.records import Annotation, Pair

Label = Literal[0, 1]


@dataclass
class Candidate:
    """A candidate with what its judges said and what it gives."""

    pair: Pair
    annotation: Annotation
    told: Told
    runs: tuple[ClaimRun, ...] = ()
    probed: tuple[str, ...] = ()
    agreed: Label | None = None
    reasons: list[str] = field(default_factory=list)

    @property
    def behaviour(self) -> str:
        """The mark of all that it gives; "" where a claim could not be run or too few held.

        It is "" as well where no claim needs work: what differs between the codes of such a query,
        as the order of a dictionary, is in none of the values.
        """
        held = sum(run.outcome == "held" for run in self.runs)
        if not held or any(run.outcome == "not_run" for run in self.runs):
            return ""
        if not any(run.claim.needs_work for run in self.runs):
            return ""
        given = [[run.outcome, run.gave] for run in self.runs]
        return mark_of([*given, list(self.probed)])


def travelling_claims(candidates: Sequence[Candidate]) -> frozenset[Claim]:
    """Return the claims that a second reader confirmed and that some candidate holds.

    One that no candidate holds may be a mistake of both readers.
    """
    confirmed = frozenset[Claim]().union(*(one.told.confirmed for one in candidates))
    held = {run.claim for one in candidates for run in one.runs if run.outcome == "held"}
    return confirmed & held


def compare_with_claims(
    one: Candidate, claims: frozenset[Claim], of_query: frozenset[Claim]
) -> None:
    """Note the claim of another candidate that this one fails and its judges did not know.

    Args:
        one: The candidate.
        claims: The claims that travel.
        of_query: Those that the query alone demands; of others two must fail.
    """
    if one.annotation.label != 1 or not any(run.outcome == "held" for run in one.runs):
        return
    new = claims - set(one.told.claims)
    failed = [run for run in one.runs if run.outcome == "failed" and run.claim in new]
    shown = [run for run in failed if run.claim in of_query] or failed[1:]
    if shown:
        run, one.agreed = shown[0], 0
        one.reasons.append(
            f"it gives {run.gave} for {run.claim.arguments}, where {run.claim.value} is "
            "demanded: a call that showed the mistake of another candidate"
        )


def compare_equals(candidates: Sequence[Candidate]) -> float | None:
    """Give codes of equal behaviour one label where most speaks for it; return the consistency."""
    classes = defaultdict(list)
    for one in candidates:
        if one.behaviour and one.annotation.label is not None:
            classes[one.behaviour].append(one)
    for equals in classes.values():
        _compare(equals)
    labels = [
        first.annotation.label == second.annotation.label
        for equals in classes.values()
        for first, second in combinations(equals, 2)
    ]
    return sum(labels) / len(labels) if labels else None


def _compare(equals: Sequence[Candidate]) -> None:
    """Let a reading give way to better supported labels; what an arbiter decided stands.

    The arbiter of a dispute knew that the calls speak otherwise, and saw a mistake that none shows.
    """
    if len({one.agreed for one in equals}) == 1:
        return
    weights = Counter[Label]()
    for one in equals:
        if one.agreed is not None:
            weights[one.agreed] += _weight(one)
    better: Label = 1 if weights[1] > weights[0] else 0
    same = sum(one.agreed == better for one in equals)
    for one in equals:
        gives_way = one.annotation.decided_by != "arbiter" and weights[0] != weights[1]
        if one.agreed != better and gives_way:
            one.agreed = better
            one.reasons.append(f"it gives for all calls what {same} codes labelled {better} give")
    if len({one.agreed for one in equals}) > 1:
        for one in equals:
            one.reasons.append("codes that give the same for all calls have another label")


def _weight(one: Candidate) -> int:
    """Return how much a label counts: one by a valid program as much as two by reading."""
    return 2 if one.annotation.support == "valid_oracle" else 1
