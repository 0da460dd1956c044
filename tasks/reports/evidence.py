"""The evidence of a judged pair: what decided it, every model call and every test run."""

from collections.abc import Iterator
from typing import Literal

from infra.records import Annotation, Execution, LanguageModelCall, Record
from tasks.benchmarks import QuerySpecification
from tasks.reports.document import Block, Code, Details, Items, KeyValues, Paragraph, Span, Text
from tasks.reports.text import counted, format_cost, format_count, format_duration, format_words

_OUTCOMES = {
    "held": Span("as demanded", "yes"),
    "failed": Span("gave", "no"),
    "not_run": Span("not run", "open"),
}
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


def judgement_blocks(one: Annotation, specified: SpecifiedPart | None) -> Iterator[Block]:
    """Yield a pair's evidence: the deciding step, every model call and every test run."""
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
        yield from _call(call)
    if one.executions:
        yield Paragraph("Test runs", "h4")
    for run in one.executions:
        yield from _run(run)


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
        return
    yield Items([_claim(claim) for claim in part.claims])
    if part.adapter:
        yield Code(part.adapter)


def _claim(claim: ClaimLine) -> Text:
    parts: list[str | Span] = [
        Span(f"answer({claim.call}) => {claim.expected}", "code"),
        _OUTCOMES[claim.outcome],
    ]
    if claim.actual:
        parts.append(Span(claim.actual, "code"))
    if claim.oracle:
        parts += ["· a second reader demands", Span(claim.oracle, "code")]
    if not claim.counts:
        parts.append(Span("does not count", "no"))
    return tuple(parts)


def _call(call: LanguageModelCall) -> Iterator[Block]:
    attempt = (Span(f"attempt {call.attempt}", "soft"),) if call.attempt > 1 else ()
    unknown = " cost" if call.cost_usd is None else ""
    spent = "from the store" if call.cached else f"{format_cost(call.cost_usd)}{unknown}"
    tokens = (
        f"{format_count(call.prompt_tokens)} tokens in, {format_count(call.completion_tokens)} out"
    )
    about = Span(f"{call.model} · {tokens} · {spent} · {format_duration(call.seconds)}", "soft")
    status = Span(call.status, "no" if call.status == "ok" else "open")
    yield Paragraph((Span(call.role), *attempt, status, about), "step")
    if call.reply:
        yield Code(call.reply, "output")
    if call.error:
        yield Code(call.error, "error")


def _outcome(outcome: str) -> Span:
    return Span(format_words(outcome), "yes" if outcome == "passed" else "no")


def _run(run: Execution) -> Iterator[Block]:
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
    yield Code(run.program)
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
