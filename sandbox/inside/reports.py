"""The reading of the report that the guard of a child process wrote."""

from __future__ import annotations

from sandbox.inside.child import FAILED
from sandbox.inside.failures import CASE_FIELDS, FIELDS

REPORT_BYTES = 393_216  # more than a hundred tests that fail
_COUNTS = ("tests_run", "asserts_executed", "target_calls")
_FAILURES = ("assertion_failed", "raised", "import_error", "memory")

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from sandbox.inside import Report


def read_report(data: bytes, token: bytes = b"") -> Report | None:
    """Return the report of ``child.py``'s guard; None where this is not one report, and whole.

    Args:
        data: What came.
        token: What the report of a harness begins with, and none that is forged.
    """
    size, _, rest = data.removeprefix(token).partition(b"\n")
    counts, newline, texts = rest.partition(b"\n")
    counts, equals, outcomes = counts.partition(b"=")
    is_whole = size == b"%d" % len(rest) and newline and equals
    if not data.startswith(token) or not is_whole:
        return None
    report, failed = _read_counts(counts), texts.startswith(FAILED)
    fields = texts.removeprefix(FAILED).decode(errors="backslashreplace").split("\0")
    cases = _read_cases(outcomes.decode(errors="replace"), fields[len(FIELDS) * failed : -1])
    if report is None or cases is None or fields[-1]:
        return None
    report["tests"] = cases
    if not failed:
        return None if b"-" in outcomes else {"outcome": "passed", **report}
    error = dict(zip(FIELDS, fields, strict=False))
    return {**error, **report} if len(fields) > len(FIELDS) and _is_within(FIELDS, error) else None


def _read_cases(outcomes: str, fields: list[str]) -> list[Report] | None:
    """Return the results of tests; None where they are not as the outcomes, ``+`` or ``-``, say."""
    names = {"+": ["name"], "-": list(CASE_FIELDS)}
    cases = []
    for outcome in outcomes:
        size = len(names.get(outcome, ()))
        case = dict(zip(names.get(outcome, ()), fields, strict=False))
        if not size or len(case) < size or not _is_within(CASE_FIELDS, case):
            return None
        cases.append({"outcome": "passed", **case})
        fields = fields[size:]
    return None if fields else cases


def _is_within(limits: dict[str, int], fields: dict[str, str]) -> bool:
    """Return True if no field is too long, and the outcome, where there is one, a failure's."""
    is_short = all(len(text) <= limits[name] for name, text in fields.items())
    return is_short and fields.get("outcome", _FAILURES[0]) in _FAILURES


def _read_counts(text: bytes) -> Report | None:
    """Return the counts of a report; None where they are not three numbers of 31 bits."""
    numbers = text.split()
    if len(numbers) != len(_COUNTS) or not all(n.isdigit() and len(n) < 11 for n in numbers):
        return None
    counts = dict(zip(_COUNTS, map(int, numbers), strict=True))
    return counts if max(counts.values()) < 2**31 else None
