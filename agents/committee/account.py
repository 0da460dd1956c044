"""The trace of a judgement by a query's specification, read out of its stored evidence."""

from collections.abc import Iterator
from itertools import chain
from typing import TypeVar

from agents.claims.claim import Claim
from agents.claims.executed import is_claims_program
from agents.claims.program import ClaimRun, claim_runs
from agents.committee.specified import failed_runs
from agents.llm.structured_output import Reply, read
from agents.roles.base import Agent
from agents.roles.specify import (
    ClaimReading,
    DemandedValue,
    Specification,
    SpecifiedScreener,
    SpecifiedScreening,
    Specifier,
    ValueReader,
    asks_again,
    best_of,
)
from infra.records import Annotation, Record

_ReplyType = TypeVar("_ReplyType", bound=Reply)


class ClaimAccount(Record):
    """The trace of a claim."""

    claim: Claim
    run: ClaimRun | None = None  # the last one; None where it was not run
    read: str = ""  # the value that a reader without code demands; "" where nobody was asked
    counts: bool = True  # False where that reader demands something else


class SpecifiedAccount(Record):
    """The trace of a judgement."""

    specification: Specification
    model: str  # wrote the specification
    screening: SpecifiedScreening | None = None  # None where judging ended before
    claims: tuple[ClaimAccount, ...] = ()


def account_of(annotation: Annotation) -> SpecifiedAccount | None:
    """Return a pair's specification, None where none of this release is stored."""
    found = dict(_replies(annotation, Specifier, Specification))
    if not found:
        return None
    specification = best_of(found)
    screenings = _replies(annotation, SpecifiedScreener, SpecifiedScreening)
    screening, _ = next(screenings, (None, ""))
    own = screening.claims if screening else ()
    claims = tuple(dict.fromkeys((*specification.claims, *own)))
    return SpecifiedAccount(
        specification=specification,
        model=found[specification],
        screening=screening,
        claims=_claim_accounts(claims, annotation),
    )


def _claim_accounts(claims: tuple[Claim, ...], annotation: Annotation) -> tuple[ClaimAccount, ...]:
    """Follow the runs of claims: further programs leave out those that did not run or stand."""
    replies = (reply for reply, _ in _replies(annotation, ValueReader, DemandedValue))
    runs: dict[Claim, ClaimRun] = {}
    second: dict[Claim, ClaimReading] = {}
    left, is_again = claims, False
    of_claims = (run for run in annotation.executions if is_claims_program(run.program))
    # The last run of each program: those before it lacked a package.
    for result in {run.program: run.result for run in of_claims}.values():
        made = claim_runs(left, result)
        runs |= {one.claim: one for one in made if not is_again or one.outcome != "not_run"}
        ran = tuple(run.claim for run in made if run.outcome != "not_run")
        if not ran and not is_again:  # the next program has another adapter
            continue
        is_again = not is_again and 0 < len(ran) < len(made)
        if is_again:
            left = ran
            continue
        for run in chain(*failed_runs(made)):
            if alone := next(replies, None):
                specified = next(replies, None) if asks_again(alone, run) else None
                second[run.claim] = ClaimReading(alone=alone, specified=specified)
        left = tuple(run.claim for run in made if run.outcome == "held")
    return tuple(
        ClaimAccount(
            claim=claim,
            run=runs.get(claim),
            read=second[claim].evidence if claim in second else "",
            counts=claim not in second or second[claim].confirms(claim),
        )
        for claim in claims
    )


def _replies(
    annotation: Annotation,
    agent: type[Agent[_ReplyType]],
    reply_type: type[_ReplyType],
) -> Iterator[tuple[_ReplyType, str]]:
    """Yield the replies of an agent, each with its model; those of former releases are left out."""
    for call in annotation.calls:
        if call.role != agent.role or call.status != "ok":
            continue
        try:
            yield read(call.reply, reply_type), call.model
        except ValueError:
            continue
