"""Reports to render: one as a run gives it, and one full of things that want out of the page."""

from infra.records import Annotation, Execution, ExecutionResult, LanguageModelCall, SourceInfo
from infra.summaries import (
    Cost,
    GoldCounts,
    LabelFigures,
    LabelShape,
    RankCounts,
    ReadingFigures,
    RoleReplies,
)
from tasks.benchmarks import QuerySpecification
from tasks.reports.document import Document
from tasks.reports.evidence import ClaimLine, SpecifiedPart, judgement_blocks
from tasks.reports.run import AgentsPart, BenchmarkScores, CollectionCounts, ReportData

MODEL = "openai/gpt-4o-mini"
METRICS = ("NDCG(gain=linear)@10", "MRR", "MAP", "Recall@10")

_PROGRAM = """from target import is_valid_ip


def test_valid():
    assert is_valid_ip("192.168.0.1")


def test_out_of_range():
    assert not is_valid_ip("256.1.1.1")


test_valid()
test_out_of_range()"""

JUDGED_BY = SpecifiedPart(
    specification=QuerySpecification(
        query_id="q1",
        recipe_id="r1",
        model=MODEL,
        reading="tell whether a text is an IP address",
        demands=("true for a well-formed address", "false for any other text"),
        left_open=("names of parameters", "what happens on input that is no text"),
        clarity="underspecified",
        is_underspecified=True,
    ),
    verdict="unclear_behaviour",
    adapter="def answer(text):\n    return is_valid_ip(text)",
    claims=(
        ClaimLine(call="'192.168.0.1'", expected="True", outcome="held"),
        ClaimLine(
            call="'::1'",
            expected="True",
            outcome="failed",
            actual="False",
            oracle="open",
            counts=False,
        ),
        ClaimLine(
            call="'256.1.1.1'", expected="False", outcome="failed", actual="True", oracle="False"
        ),
        ClaimLine(call="''", expected="False", outcome="not_run", actual="OSError: no socket"),
        ClaimLine(call="'a' * 300", expected="False", outcome="not_run"),
    ),
)


def realistic_report() -> ReportData:
    """Return a report of the size and shape that the default run has."""
    return ReportData(
        title="Standard library, 40 queries, top 5",
        generated_at="21 November 2026, 14:05 UTC",
        benchmarks=(_agents_scores(), _documentation_scores()),
        collections=_collections(),
        candidates=200,
        agents=_agents(),
        links={
            "Benchmark from documentation": "cosqa-benchmarks/python-source-documentation",
            "Flow run": "http://127.0.0.1:4200/runs/flow-run/0b1c",
        },
    )


def hostile_report(text: str) -> ReportData:
    """Return a report in which everything that comes from outside says ``text``."""
    scores = BenchmarkScores(
        name=text, label_origin=text, queries=1, codes=1, depth=10, methods={text: {text: 1.0}}
    )
    source = SourceInfo(name=text, licence=text, revision=text, location=text)
    collection = CollectionCounts(name=text, source=source, queries=1, codes=1, dropped={text: 1})
    agents = _agents()
    figures = agents.figures.model_copy(update={"shape": LabelShape(bases=((text, text, 1),))})
    return ReportData(
        title=text,
        generated_at=text,
        benchmarks=(scores,),
        collections=(collection,),
        agents=agents.model_copy(update={"model": text, "figures": figures}),
        links={text: "javascript:alert(1)"},
    )


def hostile_judgement(text: str) -> Document:
    """Return a page of a judged pair in which everything that comes from outside says ``text``."""
    result = ExecutionResult(
        outcome="raised", error_type=text[:500], message=text[:10_000], stdout=text, stderr=text
    )
    call = LanguageModelCall(
        role="writer", attempt=1, model=text, prompt_digest="d", status="ok", reply=text, error=text
    )
    annotation = Annotation(
        query_id="q1",
        code_id="c1",
        recipe_id="r1",
        status="undecided",
        path="unreadable_reply",
        reason=text,
        calls=(call,),
        executions=(Execution(round=0, program=text, requirements=(text,), result=result),),
    )
    return judgement_page(annotation, _specified(text))


def judgement_page(annotation: Annotation, part: SpecifiedPart | None = None) -> Document:
    """Return a page of a judged pair."""
    return Document(title="pair", lead=list(judgement_blocks(annotation, part)))


def _specified(text: str) -> SpecifiedPart:
    specification = QuerySpecification(
        query_id="q1",
        recipe_id="r1",
        model=text,
        reading=text,
        **dict.fromkeys(("demands", "left_open", "examples"), (text,)),
        clarity="underspecified",
        is_underspecified=True,
    )
    claim = ClaimLine(
        call=text, expected=text, outcome="failed", actual=text, oracle=text, counts=False
    )
    return SpecifiedPart(
        specification=specification, verdict="clear_match", adapter=text, claims=(claim,)
    )


def _scores(name: str, origin: str, queries: int, **methods: dict[str, float]) -> BenchmarkScores:
    return BenchmarkScores(
        name=name, label_origin=origin, queries=queries, codes=7_449, depth=1000, methods=methods
    )


def _documentation_scores() -> BenchmarkScores:
    methods = {
        "bag-of-words": _means(0.271, 0.243, 0.243, 0.370),
        "bm25": _means(0.371, 0.335, 0.335, 0.502),
        "minilm": _means(0.603, 0.541, 0.541, 0.822),
    }
    return _scores("python-source-documentation", "documentation", 500, **methods)


def _agents_scores() -> BenchmarkScores:
    methods = {
        "bag-of-words": _means(0.122, 0.143, 0.103, 0.170),
        "bm25": _means(0.171, 0.235, 0.135, 0.232),
        "minilm": {"MRR": 0.61, "MAP": 0.58},
    }
    return _scores("python-source-agents", "agents:5f0e7a31c2d94b6e8a10", 40, **methods)


def _means(*values: float) -> dict[str, float]:
    return dict(zip(METRICS, values, strict=True))


def _collections() -> tuple[CollectionCounts, ...]:
    source = SourceInfo(
        name="python-source",
        licence="PSF-2.0",
        revision="CPython 3.11.2",
        location="standard library of the running interpreter",
    )
    dropped = {"duplicate": 312, "near_duplicate": 845, "no_input_parameter": 2_210}
    more = {"no_returned_value": 9_873, "name_contains_test": 141}
    return (
        CollectionCounts(
            name="python-source", source=source, queries=40, codes=7_449, dropped=dropped | more
        ),
        CollectionCounts(
            name="python-source-documentation", source=source, queries=500, codes=7_449, labels=500
        ),
    )


def _agents() -> AgentsPart:
    figures = LabelFigures(
        queries=40,
        pairs=200,
        statuses={"labelled": 171, "undecided": 27, "failed": 2},
        labels={"0": 93, "1": 78, "none": 29},
        outcomes={"passed": 9, "assertion_failed": 17, "raised": 31, "import_error": 6},
        recipes={"5f0e7a31c2d94b6e8a10": 200},
        shape=LabelShape(
            matches={0: 8, 1: 14, 2: 10, 3: 8},
            ranks=tuple(
                RankCounts(rank=rank, labelled=35, matches=24 - 4 * rank) for rank in range(1, 6)
            ),
            bases=(
                ("screened", "clear_non_match", 71),
                ("screened", "clear_match", 64),
                ("valid_oracle", "unclear_passed", 9),
                ("overruled", "unclear_passed", 4),
            ),
        ),
        cost=Cost(
            calls=318,
            cached_calls=12,
            prompt_tokens=241_882,
            completion_tokens=30_117,
            cost_usd=None,
            model_seconds=1_312.5,
            pair_seconds=1_688.2,
        ),
    )
    return AgentsPart(
        model=MODEL,
        recipe_id="5f0e7a31c2d94b6e8a10",
        figures=figures,
        reading=ReadingFigures(
            roles=(
                RoleReplies(role="screener", model=MODEL, replies=200, unreadable=27),
                RoleReplies(role="value_reader", model=MODEL, replies=31, unreadable=0),
            ),
            tested=14,
            contradicted=5,
        ),
        gold=GoldCounts(judged=12, wrong_codes=8, false_fails=1, false_passes=2),
    )


def realistic_annotation() -> Annotation:
    """Return a labelled pair with the calls and the runs of a program that was fixed once."""
    return Annotation.model_validate(
        {
            "query_id": "q00000000000000000001",
            "code_id": "c00000000000000000001",
            "recipe_id": "5f0e7a31c2d94b6e8a10",
            "status": "labelled",
            "label": 1,
            "decided_by": "arbiter",
            "path": "unclear_passed",
            "reason": "The function covers IPv4 only, which is what the query asks for.",
            "calls": _calls(),
            "executions": _executions(),
            "seconds": 8.4,
        }
    )


def _calls() -> tuple[LanguageModelCall, ...]:
    common = {"model": MODEL, "prompt_digest": "d", "prompt_tokens": 812, "seconds": 2.31}
    said = (
        (
            "screener",
            1,
            "ok",
            '{"verdict": "unclear", "reason": "The query names no version."}',
            31,
        ),
        ("writer", 1, "unreadable", "Sure! Here is a test program:\n\n```python\nimport", 240),
        ("writer", 2, "ok", '{"program": "from target import is_valid_ip\\n…"}', 198),
        ("arbiter", 1, "ok", '{"label": 1, "reason": "Both asserts hold."}', 27),
    )
    return tuple(
        LanguageModelCall.model_validate(
            common
            | {"role": role, "attempt": attempt, "status": status, "reply": reply}
            | {"completion_tokens": tokens, "cached": attempt == 2}
            | {"error": "no closing brace" if status == "unreadable" else ""}
        )
        for role, attempt, status, reply, tokens in said
    )


def _executions() -> tuple[Execution, ...]:
    missing = ExecutionResult(
        outcome="import_error",
        error_type="ModuleNotFoundError",
        message="No module named 'numpy'",
        missing_module="numpy",
        seconds=0.11,
        stderr='Traceback (most recent call last):\n  File "program.py", line 1\n',
    )
    passed = ExecutionResult(
        outcome="passed",
        seconds=0.27,
        peak_memory_mb=31.4,
        stdout="ok\n",
        tests_run=2,
        asserts_executed=2,
        target_calls=2,
    )
    return (
        Execution(round=0, program=f"import numpy\n{_PROGRAM}", result=missing),
        Execution(round=1, program=_PROGRAM, requirements=("numpy==1.26.4",), result=passed),
    )
