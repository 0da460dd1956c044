"""Small benchmarks to export: what two origins say about three queries and four functions."""

from infra.records import (
    Annotation,
    Code,
    Execution,
    ExecutionResult,
    Label,
    LanguageModelCall,
    MutantRun,
    OracleReport,
    Query,
    SourceInfo,
)
from tasks.benchmarks import Benchmark, Undecided

QUERIES = (
    Query.of("python check if string is valid ip address", "queries.jsonl:1"),
    Query.of("reverse a list <b>in place</b> | `now`", "queries.jsonl:2"),
    Query.of("größte Zahl finden", "queries.jsonl:3"),
)
CODES = (
    Code.of("def reverse(items):\n    items.reverse()\n    return items", name="reverse"),
    Code.of(
        "def largest(numbers):\n    return max(numbers)",
        name="largest",
        module="maths",
        parameters=("numbers",),
        documentation="Größte Zahl.",
        first_line=3,
        last_line=4,
    ),
    Code.of("def is_ip(text):\n    return text.count('.') == 3", name="is_ip"),
    Code.of("def nothing(x):\n    return x\u2028", name="nothing"),
)
SOURCE = SourceInfo(name="toy", licence="MIT", revision="1", location="toy | corpus")


def people_benchmark() -> Benchmark:
    """Return a benchmark labelled by people."""
    return Benchmark(
        name="toy-people",
        label_origin="people",
        queries=QUERIES,
        codes=CODES,
        labels=(_label(0, 2, 1, "people"), _label(1, 0, 1, "people"), _label(1, 1, 0, "people")),
        sources=(SOURCE,),
        dropped={"short": 3},
    )


def agents_benchmark() -> Benchmark:
    """Return a benchmark labelled by agents, with an undecided pair and evidence."""
    origin = "agents:r1"
    undecided = Undecided(
        query_id=QUERIES[2].query_id, code_id=CODES[1].code_id, reason="unreadable"
    )
    return Benchmark(
        name="toy-agents",
        label_origin=origin,
        queries=QUERIES,
        codes=CODES,
        labels=(_label(0, 2, 1, origin), _label(1, 1, 0, origin)),
        sources=(SOURCE,),
        recipe={"model": "m", "prompts": {"screener": "```\n# not a heading"}},
        undecided=(undecided,),
        failed=2,
        evidence=(_evidence(),),
    )


def _label(query: int, code: int, relevance: float, origin: str) -> Label:
    return Label(
        query_id=QUERIES[query].query_id,
        code_id=CODES[code].code_id,
        origin=origin,
        relevance=relevance,
    )


def _evidence() -> Annotation:
    call = LanguageModelCall(
        role="screener", attempt=1, model="m", prompt_digest="d", status="ok", reply="unclear"
    )
    result = ExecutionResult(outcome="passed", stdout="ok", tests_run=1, asserts_executed=2)
    oracle = OracleReport(
        faults={"kills_mutants": "only 0 of 1"},
        trials=(MutantRun(change="1 → 2", outcome="passed"),),
    )
    run = Execution(
        round=0,
        program="assert True",
        beside="import re",
        requirements=("numpy",),
        result=result,
        oracle=oracle,
    )
    return Annotation(
        query_id=QUERIES[0].query_id,
        code_id=CODES[2].code_id,
        recipe_id="r1",
        status="labelled",
        label=1,
        decided_by="arbiter",
        path="unclear_passed",
        calls=(call,),
        executions=(run, run.model_copy(update={"round": 1, "oracle": None})),
        seconds=1.5,
    )
