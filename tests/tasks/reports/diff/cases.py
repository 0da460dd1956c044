"""Two recipes over the same 200 pairs: some labels turn, some cannot be decided any more."""

from infra.records import Annotation, Code, Execution, ExecutionResult, Label, Query
from tasks.benchmarks import Benchmark, Undecided
from tests.fakes.benchmarks import SOURCE

QUERIES = tuple(Query.of(f"query number {n}") for n in range(20))
CODES = tuple(Code.of(f"def number_{n}(query):\n    return {n}") for n in range(10))
PAIRS = [(query.query_id, code.code_id) for query in QUERIES for code in CODES]
TURNED, UNDECIDED = {3, 50, 199}, {7}


def version(recipe_id: str, model: str, *, turned: bool) -> Benchmark:
    """Return the 200 pairs as a recipe labels them."""
    labels = {n: int(n % 3 == 0) for n in range(200)}
    undecided = UNDECIDED if turned else set()
    if turned:
        labels |= {n: 1 - labels[n] for n in TURNED}
    return Benchmark(
        name=f"pairs-{recipe_id}",
        label_origin=f"agents:{recipe_id}",
        queries=QUERIES,
        codes=CODES,
        labels=tuple(
            Label(query_id=q, code_id=c, origin=f"agents:{recipe_id}", relevance=labels[n])
            for n, (q, c) in enumerate(PAIRS)
            if n not in undecided
        ),
        sources=(SOURCE,),
        recipe={"model": {"model": model, "temperature": 0}, "algorithm": "1"},
        undecided=tuple(
            Undecided(query_id=PAIRS[n][0], code_id=PAIRS[n][1], reason="unreadable")
            for n in undecided
        ),
        evidence=tuple(
            _evidence(n, recipe_id, labels[n]) for n in range(200) if n not in undecided
        ),
    )


def _evidence(number: int, recipe_id: str, label: int) -> Annotation:
    outcome = ExecutionResult.model_validate({"outcome": "passed" if label else "assertion_failed"})
    query, code = PAIRS[number]
    return Annotation(
        query_id=query,
        code_id=code,
        recipe_id=recipe_id,
        status="labelled",
        label=1 if label else 0,
        decided_by="arbiter",
        path="unclear_passed" if label else "unclear_failed_assertion",
        reason=f"pair {number} <script> under {recipe_id}",
        executions=(Execution(round=0, program="assert True", result=outcome),),
    )


BEFORE = version("r1", "small", turned=False)
AFTER = version("r2", "large", turned=True)
