"""The final arbiters, who see test programs and what came of their runs."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from agents.claims.executed import rules_of
from agents.evidence import Attempt, RunEvidence, RunOutcome, installation_fault
from agents.gates import reason_of
from agents.gates.outcomes import handler_lines
from agents.llm.prompt import fence, pair_section, shorten
from agents.roles import Agent, Judgement, stub_section
from infra.records import ExecutionResult, Pair

_LONGEST_REPORT = 8_000  # characters of its texts
_LONGEST_LINE = 500  # characters on a test
_SHORTEST = 40  # characters of a text that is shortened
_MARK = "[…]"
_TEXTS = ("message", "traceback", "command", "output", "stdout", "stderr")  # may be shortened
_COUNTS = ("outcome", "error_type", "message", "tests_run", "asserts_executed", "target_calls")
_NO_PROGRAM = "Its writer found no call of the code that could show it. Judge by reading the code."
_NOT_RUN = "The program was not run: it only shows what somebody who asked might expect."
_NEVER_RUN = (
    "Code of this language is not run here: there is no program. Judge by reading the code."
)
_MEANING_OF_RUN = {
    RunEvidence.PASSED: "The program ran to its end; every assertion that it reached held.",
    RunEvidence.TESTED_NOTHING: (
        "The program ran to its end but reached no assertion or called nothing of the code: "
        "it is no evidence. Judge by reading the code."
    ),
    RunEvidence.FAILED_ASSERTION: "An assertion failed: the code is wrong, or the test is.",
    RunEvidence.NOT_EXECUTED: (
        "The program could not be run to its end: it is no evidence. Judge by reading the code."
    ),
}
_NAME_OF = {
    RunOutcome.PASSED: "passed",
    RunOutcome.FAILED_ASSERTION: "failed assertion",
    RunOutcome.CODE_RAISED: "exception of the code's own logic",
    RunOutcome.DEPENDENCY_MISSING: "missing surroundings",
    RunOutcome.STOPPED: "stopped",
    RunOutcome.TEST_AT_FAULT: "the test's own fault",
}
_MEANING_OF = {
    RunOutcome.PASSED: "every assertion that was reached held.",
    RunOutcome.FAILED_ASSERTION: "the code gave another value than the test demands.",
    RunOutcome.CODE_RAISED: "it lacked nothing; that counts as much as a failed assertion.",
    RunOutcome.DEPENDENCY_MISSING: "a module, a name, a file or the network was not there.",
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

Part = dict[str, Any]


class Arbiter(Agent[Judgement]):
    """Judges pairs by test programs and the reports of their runs (CoSQA+, Algorithm 1)."""

    role = "arbiter"
    reply_type = Judgement

    async def judge(self, pair: Pair, attempts: Sequence[Attempt]) -> Judgement:
        """Return the judgement."""
        parts = [pair_section(pair, self._model.code_limit)]
        for attempt in attempts:
            parts += self._sections(pair, attempt)
        return await self._ask("\n".join((*parts, self._meaning(attempts))))

    async def read(self, pair: Pair) -> Judgement:
        """Return the judgement of code that no box runs."""
        return await self._ask(f"{pair_section(pair, self._model.code_limit)}\n{_NEVER_RUN}")

    def _sections(
        self,
        pair: Pair,  # noqa: ARG002 - of arbiters who attribute failures
        attempt: Attempt,
    ) -> Iterator[str]:
        """Yield the program and its report; unknown counts are left out."""
        limit = self._model.code_limit
        yield fence("reading of the query that is tested", attempt.draft.reading)
        if not attempt.draft.program:
            return
        yield fence("program", shorten(attempt.draft.program, limit))
        yield from stub_section(attempt.draft.support_code)
        if attempt.result:
            yield fence("report", run_report(attempt, min(limit, _LONGEST_REPORT)))

    def _meaning(self, attempts: Sequence[Attempt]) -> str:
        """Return the joint meaning of reports."""
        last = attempts[-1]
        if not last.draft.program:
            return _NO_PROGRAM
        return _MEANING_OF_RUN[last.evidence] if last.result else _NOT_RUN


class GatedArbiter(Arbiter):
    """Judges by programs that the gates checked, with the weight of each and of each outcome."""

    text = "gated_arbiter"

    def _sections(self, pair: Pair, attempt: Attempt) -> Iterator[str]:
        draft, limit, code = attempt.draft, self._model.code_limit, pair.code.text
        if not draft.program:
            yield fence("why no program was written", draft.reading)
        elif attempt.is_valid:
            yield fence("program", shorten(draft.program, limit))
            yield from stub_section(draft.support_code)
            yield from _result_lines(attempt, pair, limit)
            if caught := handler_lines(draft.program, code):
                places = shorten("\n".join(caught), limit)
                yield f"{_CATCHES}\n{fence('places', places)}"
        elif attempt.report:
            why = shorten(reason_of(attempt.report), limit)
            yield fence("why a program is no evidence", why)
        elif attempt.result and attempt.outcome:
            fault = installation_fault(draft, attempt.result)
            end = "; ".join(filter(None, (_end_of(attempt.result), fault)))
            yield fence("how a program ended", shorten(end, limit))
            yield _line_of(attempt.outcome)

    def _meaning(self, attempts: Sequence[Attempt]) -> str:
        last = attempts[-1]
        if not last.draft.program:
            return _NO_PROGRAM
        if is_confirmed(attempts):
            return _CONFIRMED
        if any(attempt.is_valid_failure for attempt in attempts):
            return _UNCONFIRMED
        return _PASSED if last.is_valid else _NO_EVIDENCE


class QueryArbiter(GatedArbiter):
    """Judges where the query is in doubt: by its likeliest reading, and a program for that."""

    role = text = "query_arbiter"


def is_confirmed(attempts: Sequence[Attempt]) -> bool:
    """Return True if two independent, valid programs both speak against the code."""
    return sum(attempt.is_valid_failure for attempt in attempts) > 1


def _end_of(result: ExecutionResult) -> str:
    return f"{result.outcome}: {result.error_type}: {result.message}"


def _line_of(kind: RunOutcome) -> str:
    return f"{_NAME_OF[kind].capitalize()}: {_MEANING_OF[kind]}"


def _result_lines(attempt: Attempt, pair: Pair, limit: int) -> Iterator[str]:
    """Yield the end of each test, the meaning of each kind of outcome, and what the gates found.

    That is the number of mutants that the program killed, and whether the code was isolated.
    """
    result, draft, report = attempt.result, attempt.draft, attempt.report
    assert result is not None  # noqa: S101 - a valid program has run
    assert attempt.outcome is not None  # noqa: S101 - as above
    assert report is not None  # noqa: S101 - a valid program has one
    rules = rules_of(pair.code.language)
    failed = rules.outcomes_of_tests(result, draft.program, pair.code.text, draft.support_code)
    lines = [f"{one.name}: passed" for one in result.tests if one.name not in failed]
    for one in result.tests:
        if one.name in failed:
            name = _NAME_OF[failed[one.name]]
            lines.append(f"{one.name}: {name}: {one.error_type}: {one.message}")
    lines = [line[:_LONGEST_LINE] for line in lines or [_end_of(result)]]
    yield fence("report", shorten("\n".join(lines), min(limit, _LONGEST_REPORT)))
    kinds = {attempt.outcome: None, **dict.fromkeys(failed.values())}
    yield from map(_line_of, kinds)
    if report.judged:
        share = f"{report.killed} of {report.judged}"
        yield f"{share} versions of the code with one mistake each failed the program."
    if report.protection == "separate":
        yield "The program passes too with the code in a process of its own."
    elif report.protection == "shared":
        why = fence("why", report.unprotected_because)
        yield f"Code and program could only be run in one process:\n{why}"


def run_report(attempt: Attempt, limit: int) -> str:
    """Return the report of an attempt's last run as JSON (CoSQA+, section 3.4).

    It has the outcome of each test that failed with message and traceback, the names of those that
    passed, the ends of stdout and stderr, and the log of repairs. Where all that is too long, each
    text is shortened to the same length, from its beginning for tracebacks and output; no test, no
    repair and no outcome is left out.
    """
    result, repairs = attempt.result, attempt.draft.repairs
    assert result is not None  # noqa: S101 - the caller has a run to report
    report: Part = {key: getattr(result, key) for key in _COUNTS}
    report = {key: value for key, value in report.items() if value is not None}
    if not attempt.is_simulated:
        report["tests"] = [
            {key: value for key, value in case.model_dump().items() if value}
            for case in result.tests
            if case.outcome != "passed"
        ]
        if passed := [case.name for case in result.tests if case.outcome == "passed"]:
            report["tests that passed"] = ", ".join(passed)
        report |= {key: text for key in ("stdout", "stderr") if (text := getattr(result, key))}
        if repairs:
            report["repairs"] = [
                step.model_dump(include={"command", "ok", "output"}) for step in repairs
            ]
    holders = (report, *report.get("tests", ()), *report.get("repairs", ()))
    places = [(holder, key) for holder in holders for key in _TEXTS if key in holder]
    length = _fair_length([len(holder[key]) for holder, key in places], limit)
    size = length - len(_MARK)
    for holder, key in places:
        text = holder[key]
        if len(text) > length:
            keeps_begin = key in ("message", "command")
            holder[key] = f"{text[:size]}{_MARK}" if keeps_begin else f"{_MARK}{text[-size:]}"
    return json.dumps(report, ensure_ascii=False, indent=1)


def _fair_length(lengths: Sequence[int], limit: int) -> int:
    """Return the length at which texts are cut to be within a limit together."""
    left, share = limit, limit
    for place, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - place)
        if length > share:
            return max(share, _SHORTEST)
        left -= length
    return max(lengths, default=0)
