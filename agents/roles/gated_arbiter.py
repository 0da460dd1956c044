"""The final arbiter of programs that the gates checked, who is told what each weighs."""

from collections.abc import Iterator, Sequence

from agents.evidence import Attempt, RunOutcome
from agents.gates.outcomes import catches_of, outcomes_of_tests
from agents.llm.prompt import fence, shorten
from agents.roles.arbiter import Arbiter, is_confirmed
from infra.records import Pair

_NAME_OF = {
    RunOutcome.PASSED: "passed",
    RunOutcome.FAILED_ASSERTION: "failed assertion",
    RunOutcome.CODE_RAISED: "exception of the code's own logic",
    RunOutcome.SURROUNDINGS_MISSING: "missing surroundings",
    RunOutcome.STOPPED: "stopped",
    RunOutcome.TEST_AT_FAULT: "the test's own fault",
}
_MEANING_OF = {
    RunOutcome.PASSED: "every assertion that was reached held.",
    RunOutcome.FAILED_ASSERTION: "the code gave another value than the test demands.",
    RunOutcome.CODE_RAISED: "it lacked nothing; that counts as much as a failed assertion.",
    RunOutcome.SURROUNDINGS_MISSING: "a module, a name, a file or the network was not there.",
    RunOutcome.STOPPED: "a limit was met; that counts only where reading shows that it never ends.",
    RunOutcome.TEST_AT_FAULT: "the test called the code wrongly or erred in its own lines.",
}
_CONFIRMED = (
    "Two programs that were written independently, the second without sight of the code, both fail "
    "by what the code does: evidence against the code where the query demands what they test."
)
_UNCONFIRMED = (
    "A program fails by what the code does, but no second, independent one agrees: it does not "
    "count against the code. Judge by reading the code."
)
_PASSED = "What the program tests, the code does: evidence for it as far as that covers the query."
_NO_EVIDENCE = "No program is evidence. Judge by reading the code."
_CATCHES = (
    "The program catches what the code raises. There an exception may have become a failed "
    "assertion, or have been passed over:"
)


class GatedArbiter(Arbiter):
    """Judges as the other arbiter does, with the weight of each program and of each outcome."""

    text = "gated_arbiter"

    def _sections(self, pair: Pair, attempt: Attempt) -> Iterator[str]:
        yield from super()._sections(pair, attempt)
        if attempt.result is None or attempt.outcome is None:
            return
        limit, code = self._model.code_limit, pair.code.text
        yield from _outcome_lines(attempt, code, limit)
        yield from _weight_lines(attempt)
        if caught := catches_of(attempt.draft.program, code):
            places = shorten("\n".join(caught), limit)
            yield f"{_CATCHES}\n{fence('places', places)}"

    def _meaning(self, attempts: Sequence[Attempt]) -> Iterator[str]:
        """Yield what the programs say together; what each says stands beside it."""
        last = attempts[-1]
        if not last.draft.program:
            yield from super()._meaning(attempts)
        elif is_confirmed(attempts):
            yield _CONFIRMED
        elif any(attempt.is_valid_failure for attempt in attempts):
            yield _UNCONFIRMED
        else:
            yield _PASSED if last.is_valid else _NO_EVIDENCE


class QueryArbiter(GatedArbiter):
    """Judges where the query is in doubt: by its likeliest reading, and a program for that."""

    role = text = "query_arbiter"


def _weight_lines(attempt: Attempt) -> Iterator[str]:
    """Yield how many broken versions a program that passed has noticed, and how it was played."""
    if attempt.report is None or not attempt.is_valid:
        return
    if attempt.report.judged:
        share = f"{attempt.report.killed} of {attempt.report.judged}"
        yield f"{share} versions of the code with one mistake each failed the program."
    if attempt.report.protection == "separate":
        yield "The program passes too with the code in a process of its own."
    elif attempt.report.protection == "shared":
        why = fence("why", attempt.report.unprotected_because)
        yield f"Code and program could only be run in one process:\n{why}"


def _outcome_lines(attempt: Attempt, code: str, limit: int) -> Iterator[str]:
    """Yield the outcome of each test that failed, and what each kind of outcome means."""
    assert attempt.result is not None  # noqa: S101 - the caller has seen to it
    assert attempt.outcome is not None  # noqa: S101 - as above
    draft = attempt.draft
    tests = outcomes_of_tests(attempt.result, draft.program, code, draft.beside)
    if tests:
        lines = "\n".join(f"{name}: {_NAME_OF[outcome]}" for name, outcome in tests.items())
        yield fence("how its tests failed", shorten(lines, limit))
    kinds = {attempt.outcome: None, **dict.fromkeys(tests.values())}
    yield from (f"{_NAME_OF[kind].capitalize()}: {_MEANING_OF[kind]}" for kind in kinds)
