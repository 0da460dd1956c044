"""What the judges of a pair said by claims, read from the annotation's stored calls and runs."""

from agents.claims.claim import Claim
from agents.claims.program import is_claims_program
from agents.committee.account import account_of
from infra.records import Annotation, Record


class Told(Record):
    """What the judges of a pair said.

    Attributes:
        examples: The specification's examples.
        claims: These and the screener's call.
        adapter: How they are run on the code; "" where they were not.
        confirmed: Claims that the code fails and the second reader confirms.
        of_query: Those of the confirmed that the query alone demands.
        refuted: Claims that it fails and the second reader does not confirm.
        requirements: What was installed for the code.
    """

    examples: tuple[Claim, ...] = ()
    claims: tuple[Claim, ...] = ()
    adapter: str = ""
    confirmed: frozenset[Claim] = frozenset()
    of_query: frozenset[Claim] = frozenset()
    refuted: frozenset[Claim] = frozenset()
    requirements: tuple[str, ...] = ()


def told_by(annotation: Annotation) -> Told:
    """Return what the judges said; nothing for an annotation without claims."""
    account = account_of(annotation)
    if account is None or account.screening is None:
        return Told()
    runs = [run for run in annotation.executions if is_claims_program(run.program)]
    return Told(
        examples=account.specification.claims,
        claims=tuple(item.claim for item in account.claims),
        adapter=account.screening.adapter.strip() if runs else "",
        confirmed=frozenset(item.claim for item in account.claims if item.read and item.counts),
        of_query=frozenset(item.claim for item in account.claims if item.read and item.is_of_query),
        refuted=frozenset(item.claim for item in account.claims if not item.counts),
        requirements=runs[-1].requirements if runs else (),
    )
