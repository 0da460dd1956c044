"""The evidence of a judged pair: what decided it, every model call and every test run."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from infra.records import Annotation, Execution, Record
from infra.records import Code as Function
from tasks.benchmarks import QuerySpecification
from tasks.reports.document import (
    Block,
    Code,
    Details,
    Items,
    KeyValues,
    Paragraph,
    Span,
    Table,
    Text,
)
from tasks.reports.text import counted, format_cost, format_count, format_duration, format_words

_OUTCOMES = {
    "held": Span("as demanded", "yes"),
    "failed": Span("gave", "no"),
    "not_run": Span("not run", "open"),
}
# Where a program of calls has its adapter and its tests, behind the code that compares values.
_OWN_PART = re.compile(r"^(def adapted_answer|claims\.adapter = |func test_claim_)", re.MULTILINE)
_MUTANTS = {"assertion_failed": Span("killed", "yes"), "passed": Span("survived", "no")}


class ClaimLine(Record):
    """A call, and what came of it.

    Attributes:
        call: The arguments.
        expected: The value that the query demands.
        outcome: Whether the code returned it; ``not_run`` also where nothing was tried.
        actual: The value that it returned instead, or why it could not be run.
        oracle: The value that an oracle expects who saw no code; "" where none was asked.
        counts: False where that is another value, so that nothing follows from the call.
    """

    call: str
    expected: str
    outcome: Literal["held", "failed", "not_run"]
    actual: str = ""
    oracle: str = ""
    counts: bool = True


class SpecifiedPart(Record):
    """The evidence of a pair's label.

    Attributes:
        specification: The query's.
        verdict: Of the first reading of the code; "" where judging ended before.
        adapter: The lines by which the calls reach the code; "" where they do not fit.
        claims: What came of each call.
    """

    specification: QuerySpecification
    verdict: str = ""
    adapter: str = ""
    claims: tuple[ClaimLine, ...] = ()


def code_facts(places: Sequence[Function]) -> KeyValues:
    """Return a function's name, its module, and where it stands, as collections have it."""
    facts: dict[str, Text] = {}
    for place in places:
        named = {"Function": place.name, "Module": place.module, "File": place.origin}
        facts = {name: value for name, value in named.items() if value} | facts
        if place.url.startswith(("https://", "http://")):
            facts.setdefault("Source", Span("where it is from", href=place.url))
    return KeyValues(facts)


def judgement_blocks(one: Annotation, specified: SpecifiedPart | None) -> Iterator[Block]:
    """Yield how a pair was judged: calls and tests, what decided it, and every model call."""
    by_calls = bool(specified and specified.claims)
    if specified and by_calls:
        yield Paragraph("Calls", "h4")
        yield _calls(specified.claims)
    if one.executions:
        yield Paragraph("Test runs", "h4")
    for run in one.executions:
        yield from _run(run, by_calls=by_calls)
    yield Paragraph("Decision", "h4")
    values: dict[str, Text] = {
        "Path": format_words(one.path),
        "Decided by": one.decided_by or "nobody",
        "Reason": one.reason,
        "Time": format_duration(one.seconds),
        "Pair": Span(f"{one.query_id} {one.code_id}", "code"),
    }
    yield KeyValues({name: value for name, value in values.items() if value})
    if specified:
        yield from _specified(specified)
    if one.calls:
        yield Paragraph("Model calls", "h4")
    for call in one.calls:
        attempt = (Span(f"attempt {call.attempt}", "soft"),) if call.attempt > 1 else ()
        unknown = " cost" if call.cost_usd is None else ""
        spent = "from the store" if call.cached else f"{format_cost(call.cost_usd)}{unknown}"
        asked, told = format_count(call.prompt_tokens), format_count(call.completion_tokens)
        tokens = f"{asked} tokens in, {told} out"
        about = Span(f"{call.model} · {tokens} · {spent} · {format_duration(call.seconds)}", "soft")
        status = Span(call.status, "no" if call.status == "ok" else "open")
        yield Paragraph((Span(call.role), *attempt, status, about), "step")
        if call.reply:
            yield Code(call.reply, "output")
        if call.error:
            yield Code(call.error, "error")


def _specified(part: SpecifiedPart) -> Iterator[Block]:
    one = part.specification
    doubt = [Span("underspecified", "open")] if one.is_underspecified else []
    yield Paragraph(("What the query demands", *doubt), "h4")
    values = {
        "Reading": one.reading,
        "Demands": "; ".join(one.demands),
        "Left open": "; ".join(one.left_open),
        "First reading of the code": format_words(part.verdict),
    }
    yield KeyValues({name: value for name, value in values.items() if value})
    if not part.claims:
        reason = one.cannot_show
        yield f"No call shows what is demanded{'' if reason == 'none' else f': {reason}'}."
    elif part.adapter:
        yield Code(part.adapter)


def _calls(claims: Sequence[ClaimLine]) -> Table:
    """Return a row for each call, with what a second reader demands where one was asked."""
    is_read = any(claim.oracle for claim in claims)
    header = ("call", "expected", "actual", *(["second reader"] if is_read else []))
    rows = []
    for claim in claims:
        actual = (_OUTCOMES[claim.outcome], *([Span(claim.actual, "code")] if claim.actual else []))
        doubt = () if claim.counts else (Span("does not count", "no"),)
        cells: list[Text] = [Span(f"answer({claim.call})", "code"), Span(claim.expected, "code")]
        second = (Span(claim.oracle, "code"), *doubt) if claim.oracle else doubt
        rows.append((*cells, actual, *([second] if is_read else [])))
    return Table(header, rows, text_columns=len(header))


def _outcome(outcome: str) -> Span:
    return Span(format_words(outcome), "yes" if outcome == "passed" else "no")


def _run(run: Execution, *, by_calls: bool) -> Iterator[Block]:
    result = run.result
    counts = {
        "tests": result.tests_run,
        "asserts": result.asserts_executed,
        "calls of the function": result.target_calls,
    }
    memory, needed = result.peak_memory_mb, ", ".join(run.requirements)
    about = (
        ", ".join(f"{number} {unit}" for unit, number in counts.items() if number is not None),
        format_duration(result.seconds),
        "" if memory is None else f"{memory:.0f} MB",
        f"with {needed}" if needed else "",
    )
    soft = Span(" · ".join(filter(None, about)), "soft")
    yield Paragraph((Span(f"round {run.round}"), _outcome(result.outcome), soft), "step")
    if error := ": ".join(filter(None, (result.error_type, result.message))):
        yield Code(error, "error")
    if run.beside:
        yield "stubs and imports that the function lacks"
        yield Code(run.beside)
    harness = _OWN_PART.search(run.program) if by_calls else None
    begin = harness.start() if harness else 0
    yield Code(run.program[begin:])
    if begin:
        lines = run.program.count("\n", 0, begin)
        yield Details(f"harness, {counted(lines, 'lines')}", [Code(run.program[:begin])])
    if result.tests:
        cases = [
            (Span(case.name, "code"), _outcome(case.outcome), case.message) for case in result.tests
        ]
        yield Details(counted(len(cases), "tests"), [Items(cases)])
    if run.oracle:
        faults = [(Span(format_words(gate)), fault) for gate, fault in run.oracle.faults.items()]
        mutants = [
            (
                Span(mutant.change, "code"),
                _MUTANTS.get(mutant.outcome, Span(format_words(mutant.outcome))),
            )
            for mutant in run.oracle.trials
        ]
        killed = f"{run.oracle.killed} of {run.oracle.judged} mutants killed"
        summary = "; ".join(filter(None, (counted(len(faults), "faults") * bool(faults), killed)))
        yield Details(summary, [Items([*faults, *mutants])])
    for name, stream in (("stdout", result.stdout), ("stderr", result.stderr)):
        if stream:
            yield name
            yield Code(stream, "output")
