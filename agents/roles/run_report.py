"""The structured report of a test program's run, which the arbiter judges by (CoSQA+, section 3.4).

It has the outcome of each test that failed with message and traceback, the names of those that
passed, the ends of stdout and stderr, and the log of repairs. Where all that is too long, each text
is shortened to the same length, from its beginning for tracebacks and output; no test, no repair
and no outcome is left out.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from agents.evidence import Attempt
from infra.records import ExecutionResult, RepairStep

_COUNTS = ("outcome", "error_type", "message", "tests_run", "asserts_executed", "target_calls")
_MARK = "[…]"
_SHORTEST = 40  # characters of a text that is shortened

Part = dict[str, Any]


def run_report(attempt: Attempt, limit: int) -> str:
    """Return the report of an attempt's last run as JSON."""
    assert attempt.result is not None  # noqa: S101 - the caller has a run to report
    report = _whole(attempt.result, attempt.draft.repairs, is_simulated=attempt.is_simulated)
    texts = list(_texts(report))
    length = _fair_length([len(holder[key]) for holder, key in texts], limit)
    for holder, key in texts:
        keeps_end = key not in ("message", "command")
        holder[key] = _shortened(holder[key], length, keeps_end=keeps_end)
    return json.dumps(report, ensure_ascii=False, indent=1)


def _whole(result: ExecutionResult, repairs: Sequence[RepairStep], *, is_simulated: bool) -> Part:
    report: Part = {key: getattr(result, key) for key in _COUNTS}
    report = {key: value for key, value in report.items() if value is not None}
    if is_simulated:
        return report
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
    return report


def _texts(report: Part) -> Iterable[tuple[Part, str]]:
    """Yield the places of all texts that may be shortened."""
    for holder in (report, *report.get("tests", ()), *report.get("repairs", ())):
        for key in ("message", "traceback", "command", "output", "stdout", "stderr"):
            if key in holder:
                yield holder, key


def _fair_length(lengths: Sequence[int], limit: int) -> int:
    """Return the length at which texts are cut to be within a limit together."""
    left, share = limit, limit
    for place, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - place)
        if length > share:
            return max(share, _SHORTEST)
        left -= length
    return max(lengths, default=0)


def _shortened(text: str, length: int, *, keeps_end: bool) -> str:
    if len(text) <= length:
        return text
    size = length - len(_MARK)
    return f"{_MARK}{text[-size:]}" if keeps_end else f"{text[:size]}{_MARK}"
