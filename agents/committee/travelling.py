"""Claims that travel: all claims of a query are run on all its candidates, and labels compared.

A call that showed the mistake of one candidate may show that of another, whose judges did not think
of it. And codes that give the same for all calls, probes included, should have the same label. No
model is asked: what the judges said is in the annotations.
"""

from collections.abc import Sequence

from agents.claims.claim import Claim
from agents.claims.probes import probes_of
from agents.claims.program import ClaimRun, claim_runs, claims_program, probe_values
from agents.committee.comparison import (
    Candidate,
    Label,
    compare_equals,
    compare_with_claims,
    travelling_claims,
)
from agents.committee.duplicates import first_of
from agents.committee.told import told_by
from infra.languages import Language
from infra.records import Annotation, Pair, Record
from sandbox.base import Box, Sandbox

_MOST_CLAIMS, _MOST_PROBES = 40, 40  # of a query; a run reports a hundred tests
_OTHER_HASH_SEED = 1


class CodeBehaviour(Record):
    """What a candidate gives for a query's calls, and its label beside those of the others.

    Attributes:
        code_id: The code.
        outcomes: For each claim of the query "held", "gave" and the value, or "" where that is not
            known.
        behaviour: Equal for codes that give the same for every claim and every probe; "" where too
            few claims could be run.
        label: The label by its own annotation.
        agreed: The label after comparing with the other candidates.
        reason: Why that is another one, or why labels of equal behaviour differ; "" else.
    """

    code_id: str
    outcomes: tuple[str, ...] = ()
    behaviour: str = ""
    label: Label | None = None
    agreed: Label | None = None
    reason: str = ""


class QueryBehaviour(Record):
    """The candidates of a query on the same calls.

    Attributes:
        query_id: The query.
        claims: The specification's examples and the calls that showed a candidate's mistake,
            without those that a second reader refuted.
        codes: The candidates, in the order in which they were given.
        consistency: Share of pairs of codes of equal behaviour whose own labels are equal; None
            without such a pair.
    """

    query_id: str
    claims: tuple[Claim, ...]
    codes: tuple[CodeBehaviour, ...]
    consistency: float | None


async def travel(
    judged: Sequence[tuple[Pair, Annotation]], sandbox: Sandbox, language: Language
) -> QueryBehaviour | None:
    """Return how the candidates of one query behave, None without claims.

    Args:
        judged: The pairs of the query with their annotations under one recipe.
        sandbox: Where claims run, all in one box.
        language: The language of the codes.

    Raises:
        SandboxError: The box failed.
    """
    everyone = [Candidate(pair, item, told_by(item), agreed=item.label) for pair, item in judged]
    firsts = _firsts_of(everyone)
    candidates = [one for one in everyone if one.pair.code.code_id not in firsts]
    claims = _claims_of(candidates)
    if not claims:
        return None
    async with sandbox.box(language.scaffolded(judged[0][0].code.text)) as box:
        await _run_claims(candidates, claims, box, language)
    consistency = compare_equals(candidates)
    for one in everyone:
        if first := firsts.get(one.pair.code.code_id):
            _follow(one, first)
    return QueryBehaviour(
        query_id=judged[0][0].query.query_id,
        claims=claims,
        codes=tuple(_behaviour_of(one, claims) for one in everyone),
        consistency=consistency,
    )


def _firsts_of(candidates: Sequence[Candidate]) -> dict[str, Candidate]:
    """Return code → the candidate by whose evidence it is labelled, where that is among them."""
    by_code = {one.pair.code.code_id: one for one in candidates}
    firsts = {code: first_of(one.annotation) for code, one in by_code.items()}
    return {code: by_code[first] for code, first in firsts.items() if first in by_code}


def _follow(one: Candidate, first: Candidate) -> None:
    """Give a duplicate what the candidate gives that was judged, and its label."""
    one.runs, one.probed = first.runs, first.probed
    if first.agreed is not None:
        one.agreed = first.agreed
        one.reasons += first.reasons
        if one.agreed != one.annotation.label and not one.reasons:
            one.reasons.append(f"it is the same function as {first.pair.code.code_id}")


async def _run_claims(
    candidates: Sequence[Candidate], claims: tuple[Claim, ...], box: Box, language: Language
) -> None:
    """Run claims and probes on all candidates, and note mistakes that nobody thought of."""
    probes = probes_of(claims, _MOST_PROBES)
    installed = {name for one in candidates for name in one.told.requirements}
    if installed:
        await box.install(sorted(installed))
    for one in candidates:
        await _run(one, claims, probes, box, language)
    travelling = travelling_claims(candidates)
    of_query = frozenset[Claim]().union(*(one.told.of_query for one in candidates))
    for one in candidates:
        compare_with_claims(one, travelling, of_query)


def _claims_of(candidates: Sequence[Candidate]) -> tuple[Claim, ...]:
    """Return the confirmed calls and the specification's examples, but for those refuted.

    A screener's call that showed nothing stays with its code: who wrote it had seen the code.
    """
    refuted = frozenset[Claim]().union(*(one.told.refuted for one in candidates))
    confirmed = frozenset[Claim]().union(*(one.told.confirmed for one in candidates))
    examples = (claim for one in candidates for claim in one.told.examples)
    travelling = dict.fromkeys((*sorted(confirmed, key=str), *examples))
    return tuple(claim for claim in travelling if claim not in refuted)[:_MOST_CLAIMS]


async def _run(
    one: Candidate,
    claims: tuple[Claim, ...],
    probes: tuple[str, ...],
    box: Box,
    language: Language,
) -> None:
    """Run claims and probes on a candidate, twice; what differs between the runs is not known."""
    if not one.told.adapter:
        return
    code = language.scaffolded(one.pair.code.text)
    for asked in (probes, ()):  # a probe may run for ever
        program = claims_program(claims, one.told.adapter, code, asked)
        result = await box.run(program, code=code)
        if result.tests:
            again = await box.run(program, code=code, hash_seed=_OTHER_HASH_SEED)
            runs = zip(claim_runs(claims, result), claim_runs(claims, again), strict=True)
            one.runs = tuple(
                first if first == second else ClaimRun(claim=first.claim, outcome="not_run")
                for first, second in runs
            )
            values = zip(probe_values(asked, result), probe_values(asked, again), strict=True)
            one.probed = tuple(first if first == second else "" for first, second in values)
            return


def _behaviour_of(one: Candidate, claims: Sequence[Claim]) -> CodeBehaviour:
    shown = {"held": "held", "failed": "gave ", "not_run": ""}
    given = [shown[run.outcome] + (run.gave if run.outcome == "failed" else "") for run in one.runs]
    return CodeBehaviour(
        code_id=one.pair.code.code_id,
        outcomes=tuple(given or [""] * len(claims)),
        behaviour=one.behaviour,
        label=one.annotation.label,
        agreed=one.agreed,
        reason="; ".join(one.reasons),
    )
