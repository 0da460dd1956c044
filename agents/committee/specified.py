"""Judging by a query's specification: one reading for all candidates, and claims that are run.

The specification's examples, and the call by which the screener would show a fault, are claims.
They are run on the code through the screener's adapter, else, where their arguments fit the code's
own parameters, by a plain call of it, whatever the reading says. A claim that fails counts
against the code once a second reader, who saw neither code nor claimed value, demands the same: by
itself where the query alone demands it, else with another. The evidence decides where it agrees
with the reading or where nobody was sure, else an arbiter.

`account_of` reads the trace of such a judgement out of its stored evidence.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeVar

from pydantic import Field

from agents.claims.adapter import CallAdapter
from agents.claims.claim import Claim
from agents.claims.executed import is_claims_program
from agents.claims.program import TEST, ClaimRun, claim_runs
from agents.committee.tester import PairRunner
from agents.committee.trace import Trace
from agents.evidence import Attempt, Draft, installation_fault
from agents.gates import reason_of
from agents.gates.missing_dependencies import is_missing_dependency
from agents.gates.stubs import functions_of
from agents.gates.validator import OracleValidator
from agents.llm.structured_output import Reply, read
from agents.roles import Agent
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
from infra.languages import Language
from infra.records import Annotation, OracleReport, Pair, Record
from sandbox.base import Sandbox

_ReplyType = TypeVar("_ReplyType", bound=Reply)

_LONGEST_VALUE = 300  # characters of a reader's value that are shown
FEWEST_HELD = 3  # claims; fewer that hold are no evidence for a code
_WRONG_NUMBER = re.compile(r"TypeError: [^ ]+\(\) (takes|missing) .*positional argument")
_BY_STUBS = "by what stands beside the code: gave "  # which is no evidence
_ENOUGH_CONFIRMED = 2  # claims that fail; one that the query alone demands is enough


class ClaimEvidence(Record):
    """The evidence of claims about a code.

    Attributes:
        runs: The run of each claim that was not rejected; () where none could be run.
        read: Claims that failed → the value that a reader without code demands.
        confirmed: Claims that failed and that this reader confirms, or that need none: of code that
            is none of an answer by reading, two that were written before any code was seen.
        left_out: Runs before, of claims that failed without this reader's confirming it.
        is_unsettled: Whether one of these counts all the same: nobody demands what the code gave.
        is_sure: Whether these speak against the code: the query alone demands one, or two failed.
        tried: The screener's own claims: who wrote them had seen the code, which may be hostile, so
            they never support it.
        adapter: By which they were run.
        is_prepared: Whether the adapter works on arguments, so that it may do a part of the work.
        is_valid: Whether the program of the claims that could be run passed the gates.
        problem: Why no claim was run, or why their program is no evidence.
        is_at_fault: Whether nothing ran for a fault of the adapter, which another may not have.
        takes_others: Whether nothing ran since the code takes another number of arguments.
    """

    runs: tuple[ClaimRun, ...] = ()
    read: dict[Claim, str] = Field(default_factory=dict)
    confirmed: tuple[Claim, ...] = ()
    left_out: tuple[ClaimRun, ...] = ()
    is_unsettled: bool = False
    is_sure: bool = False
    tried: tuple[Claim, ...] = ()
    adapter: str = ""
    is_prepared: bool = False
    is_valid: bool = False
    problem: str = ""
    is_at_fault: bool = False
    takes_others: bool = False

    @property
    def held(self) -> int:
        """Number of claims that the code holds."""
        return sum(run.outcome == "held" for run in self.runs)

    @property
    def supports_code(self) -> bool:
        """Return True if no claim fails and enough of the specification's hold, by a valid program.

        These are at least twice as many as could not be run, which a code may bring about. One must
        need work: code that gives its argument back may hold the others.
        """
        not_run = sum(run.outcome == "not_run" for run in (*self.runs, *self.left_out))
        by_stubs = any(run.gave.startswith(_BY_STUBS) for run in self.runs)
        is_sound = not self.failures and 2 * not_run <= self.held and not by_stubs
        held = [run.claim for run in self.runs if run.outcome == "held"]
        of_query = [claim for claim in held if claim not in self.tried]
        needs_work = any(claim.needs_work for claim in of_query)
        return self.is_valid and is_sound and needs_work and len(of_query) >= FEWEST_HELD

    @property
    def failures(self) -> str:
        """The code's results for the claims that it does not hold."""
        failed = (run for run in self.runs if run.outcome == "failed")
        return "; ".join(f"{run.claim}: gave {run.gave}" for run in failed)


def label_by(evidence: ClaimEvidence, verdict: str) -> Literal[0, 1] | None:
    """Return the label that claims give, None where they do not, or contradict a sure reading.

    Code that holds none of the claims may have been called in a wrong way, and code that is given
    prepared arguments may do half of the work: both count only with a reading that says the same.
    """
    if evidence.confirmed:
        agrees = verdict == "clear_non_match" or (evidence.held and verdict != "clear_match")
        return 0 if evidence.is_sure and agrees else None
    agrees = verdict == "clear_match" or (verdict != "clear_non_match" and not evidence.is_prepared)
    return 1 if evidence.supports_code and agrees and not evidence.is_unsettled else None


@dataclass(frozen=True)
class ClaimTester:
    """Runs the claims of a query on a code, in a box of its own."""

    sandbox: Sandbox
    language: Language
    validator: OracleValidator
    calls: CallAdapter

    async def test(
        self,
        pair: Pair,
        specification: Specification,
        screening: SpecifiedScreening,
        trace: Trace,
    ) -> ClaimEvidence:
        """Return the evidence of claims; failed ones are read a second time, until one stands."""
        of_query = specification.claims
        claims = tuple(dict.fromkeys((*of_query, *screening.claims)))
        adapter = screening.adapter.strip()
        if not claims:
            return ClaimEvidence()
        found, adapters = self._adapters(pair.code.text, adapter, of_query)
        if not adapters:
            return found
        stubs = self.validator.rules.stubs.usable(screening.beside, pair.code.text)
        code = self.language.with_support_code(pair.code.text, stubs, scaffolding=True)
        async with self.sandbox.box(code, language=self.language.name) as box:
            with trace.model.releasing(box):
                runner = PairRunner(pair, box, trace, self.validator)
                for one in adapters:
                    tools = _Tools(specification, screening, one, stubs, code, runner)
                    evidence = await self._test_claims(claims, tools)
                    if evidence.runs or evidence.left_out:
                        origin = {
                            "tried": tuple(one for one in claims if one not in of_query),
                            "adapter": tools.adapter,
                            "is_prepared": self.calls.works_on_arguments(tools.adapter),
                        }
                        evidence = evidence.model_copy(update=origin)
                        is_decided = evidence.supports_code or evidence.confirmed
                        if found.is_at_fault and not is_decided:  # another adapter may do better
                            fault = {"is_at_fault": True, "problem": found.problem}
                            evidence = evidence.model_copy(update=fault)
                        return evidence
                    found = evidence if one == adapter else found
        return found

    def _adapters(
        self, code: str, adapter: str, examples: Sequence[Claim]
    ) -> tuple[ClaimEvidence, list[str]]:
        """Return the evidence if nothing runs, and the adapters to run by, a plain call at last."""
        nothing = ClaimEvidence(problem="no example fits the code")
        adapters: list[str] = []
        if not self.language.is_valid(code):
            return nothing, adapters
        if adapter and (fault := self.calls.adapter_fault(adapter, self.language.scaffolded(code))):
            problem = f"the adapter cannot be used: {fault}"
            nothing = ClaimEvidence(problem=problem, is_at_fault=True)
        elif adapter:
            adapters = [adapter]
        plain = self.calls.plain_call(code)
        if plain and any(plain.takes(one.arguments) for one in examples):
            adapters.append(plain.adapter)
        return nothing, adapters

    async def _test_claims(self, claims: tuple[Claim, ...], tools: "_Tools") -> ClaimEvidence:
        """Run the claims; leave out those that the second reader does not confirm."""
        evidence = ClaimEvidence()
        while claims:
            runs, report = await self._run(claims, tools)
            if all(one.outcome == "not_run" for one in runs):
                # What each call raises is of the arguments' shape, which another adapter may mend;
                # a name that JavaScript lacks is the code's, since an adapter has no others.
                kind, _, message = runs[0].gave.partition(": ")
                is_missing = kind == "ReferenceError" or is_missing_dependency(kind, message)
                is_error = kind.startswith("raises ") or (kind.endswith("Error") and not is_missing)
                fault = {
                    "problem": f"no claim could be run: {runs[0].gave}",
                    "is_at_fault": not evidence.read and is_error,
                    "takes_others": all(_WRONG_NUMBER.match(one.gave) for one in runs),
                }
                return evidence.model_copy(update=fault)
            is_valid = report is not None and not report.faults
            problem = reason_of(report) if report else ""
            found = {"runs": runs, "is_valid": is_valid, "problem": problem}
            evidence = await self._confirm_failures(evidence.model_copy(update=found), tools)
            if evidence.confirmed or not evidence.failures or tools.agrees_with(evidence):
                return evidence
            claims = tuple(one.claim for one in runs if one.outcome == "held")
            evidence = ClaimEvidence(
                read=evidence.read,
                left_out=(*evidence.left_out, *(one for one in runs if one.outcome != "held")),
                is_unsettled=evidence.is_unsettled,
                problem="no claim stands",
            )
        return evidence

    async def _run(
        self, claims: tuple[Claim, ...], tools: "_Tools"
    ) -> tuple[tuple[ClaimRun, ...], OracleReport | None]:
        """Run claims, then without those that cannot be run, for which the gates would fail."""
        runs, report = await self._attempt(claims, tools)
        left = tuple(one.claim for one in runs if one.outcome != "not_run")
        if not left or len(left) == len(claims):
            return runs, report
        again, report_again = await self._attempt(left, tools)
        found = {one.claim: one for one in again if one.outcome != "not_run"}
        return tuple(found.get(one.claim, one) for one in runs), report_again if found else report

    async def _confirm_failures(self, evidence: ClaimEvidence, tools: "_Tools") -> ClaimEvidence:
        """Have failed claims read a second time until that is enough.

        A claim is not enough where the code gives what the screener demands of the same call.
        """
        failed, contradicted = failed_runs(evidence.runs)
        of_query = tools.specification.claims
        blind = tuple(one.claim for one in failed if one.claim in of_query and not one.is_formed)
        is_unlike = tools.screening.verdict == "clear_non_match"
        if is_unlike and len(blind) >= _ENOUGH_CONFIRMED:
            return evidence.model_copy(update={"confirmed": blind, "is_sure": True})
        if tools.agrees_with(evidence):
            return evidence
        reader, query = ValueReader(tools.runner.trace.model), tools.runner.pair.query
        read = dict(evidence.read)
        confirmed: tuple[Claim, ...] = ()
        is_sure, is_unsettled = False, evidence.is_unsettled
        for run in (*failed, *contradicted):
            found = await reader.read(query, tools.specification, run)
            read[run.claim] = found.evidence[:_LONGEST_VALUE]
            if found.confirms(run.claim):
                confirmed += (run.claim,)
            else:
                is_unsettled = is_unsettled or not found.acquits(run)
            is_enough = len(confirmed) == _ENOUGH_CONFIRMED or found.alone.confirms(run.claim)
            is_sure = is_enough and run in failed
            if is_enough:
                break
        found_by = {"read": read, "confirmed": confirmed, "is_sure": is_sure}
        return evidence.model_copy(update=found_by | {"is_unsettled": is_unsettled})

    async def _attempt(
        self, claims: Sequence[Claim], tools: "_Tools"
    ) -> tuple[tuple[ClaimRun, ...], OracleReport | None]:
        """Run claims, with installations of missing modules, and check their program."""
        stubs = functions_of(tools.stubs, tools.runner.pair.code.text)
        draft = Draft(
            reading=tools.specification.reading,
            program=self.calls.claims_program(claims, tools.adapter, tools.code, stubs),
            requirements=tools.requirements,
            repairs=tools.runner.trace.failed_installations,
            support_code=tools.stubs,
        )
        attempt = await tools.runner.run_and_validate(
            draft, lambda one: any(run.outcome != "not_run" for run in _runs_of(claims, one))
        )
        tools.requirements = attempt.draft.requirements
        return _runs_of(claims, attempt), attempt.report


def _runs_of(claims: Sequence[Claim], attempt: Attempt) -> tuple[ClaimRun, ...]:
    """Return the runs of claims, as none those that an agent's stubs may have failed.

    A run that lacked a module says why that could not be installed.
    """
    assert attempt.result is not None  # noqa: S101 - it was run
    fault = installation_fault(attempt.draft, attempt.result)
    runs = []
    for run in claim_runs(claims, attempt.result):
        gave, outcome = run.gave, run.outcome
        if outcome == "failed" and f"{TEST}{claims.index(run.claim) + 1}" in attempt.by_stubs:
            gave, outcome = f"{_BY_STUBS}{gave}", "not_run"
        elif fault and outcome == "not_run" and "No module named" in gave:
            gave = f"{gave}; {fault}"
        runs.append(run.model_copy(update={"gave": gave, "outcome": outcome}))
    return tuple(runs)


def failed_runs(runs: Sequence[ClaimRun]) -> tuple[list[ClaimRun], list[ClaimRun]]:
    """Return the failed runs, and those of them whose call another claim gives the actual value."""
    given = {run.claim.arguments for run in runs if run.outcome == "held"}
    failed = [run for run in runs if run.outcome == "failed"]
    return (
        [run for run in failed if run.claim.arguments not in given],
        [run for run in failed if run.claim.arguments in given],
    )


@dataclass
class _Tools:
    """The context of the runs of one pair's claims."""

    specification: Specification
    screening: SpecifiedScreening
    adapter: str
    stubs: str
    code: str
    runner: PairRunner
    requirements: tuple[str, ...] = ()

    def agrees_with(self, evidence: ClaimEvidence) -> bool:
        """Return True if a plain call fails that nobody asked for, as the reading says.

        That is worth no reader's word, unless as much holds as would support the code.
        """
        is_plain = self.adapter != self.screening.adapter.strip()
        is_unlike = self.screening.verdict == "clear_non_match"
        return is_plain and is_unlike and bool(evidence.failures) and evidence.held < FEWEST_HELD


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
