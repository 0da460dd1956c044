"""Stores and applications whose pages tests look at."""

from pathlib import Path

from starlette.testclient import TestClient

from infra.identity import RecipeId
from infra.records import (
    Annotation,
    CaseResult,
    Code,
    Execution,
    ExecutionResult,
    LanguageModelCall,
    MutantRun,
    OracleReport,
    Pair,
    Query,
)
from infra.store import Database, annotations
from tasks.browse.app import SnapshotSource, browse_app
from tasks.browse.guard import Guard
from tasks.browse.opened import StoreSnapshots
from tests.fakes.stores import store_like

PORT = 4280
ADDRESS = f"http://127.0.0.1:{PORT}"
HOSTILE = (
    "</pre></main><script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=1">',
    "{{ 7 * 7 }}{% include 'base.html.jinja' %}",
    "\x1b[31mred\x1b[0m",
    "left \u202egnirts desrever\u202c \u200b\u2066",
    "NUL \x00 inside",
    "=cmd|' /C calc'!A0",
    "x" * 1_000_000,
    "العربية بين right and left",
)


def pairs_of(texts: tuple[str, ...]) -> list[Pair]:
    """Return a pair of each text, which is its query and stands in its code."""
    return [
        Pair(query=Query.of(text), code=Code.of(f"def f{n}(x):\n    return {text!r}\n# {text}"))
        for n, text in enumerate(texts)
    ]


def judged_store(folder: Path, texts: tuple[str, ...]) -> Database:
    """Return a store of pairs of these texts, each judged with a text in all that can have one."""
    return store_like(_judge, folder, texts, lock_timeout_s=5.0)


def _judge(database: Database, texts: tuple[str, ...]) -> None:
    pairs = pairs_of(texts)
    annotations.record_pairs(database, pairs)
    recipe = RecipeId("r" * 20)
    annotations.record_recipes(database, {recipe: {"model": {"model": f"maker/{texts[0][:200]}"}}})
    found = [judged(pair, recipe, text) for pair, text in zip(pairs, texts, strict=True)]
    annotations.add_annotations(database, found)


def judged(pair: Pair, recipe: RecipeId, text: str, label: int = 1) -> Annotation:
    """Return an annotation with a call and an execution, with a text wherever one may be."""
    short = text[:200]
    result = ExecutionResult(
        outcome="passed", message=text[:9_000], stdout=text, stderr=text, tests_run=1,
        asserts_executed=2, target_calls=3, tests=(CaseResult(name=short, outcome="passed"),),
    )  # fmt: skip
    oracle = OracleReport(faults={"mutants": text}, trials=(
        MutantRun(change=f"{short} → y", outcome="assertion_failed"),
        MutantRun(change=f"{short} → z", outcome="passed"),
    ))  # fmt: skip
    return Annotation(
        query_id=pair.query.query_id, code_id=pair.code.code_id, recipe_id=recipe,
        status="labelled", label=1 if label else 0, decided_by="arbiter", path="unclear_passed",
        reason=text, support="valid_oracle", judgements=2, agreeing=2, seconds=3.5,
        calls=(LanguageModelCall(role="arbiter", attempt=1, model="m", prompt_digest="d",
                                 status="ok", reply=text, cost_usd=0.002),),
        executions=(Execution(round=0, program=f"# {text}", result=result, oracle=oracle,
                              beside=f"# {text}"),),
    )  # fmt: skip


def client_of(
    browsed: SnapshotSource | Database, guard: Guard | None = None, address: str = ADDRESS
) -> TestClient:
    """Return a browser that follows no redirects, on the pages of a store or of a snapshot."""
    if isinstance(browsed, Database):
        browsed = StoreSnapshots(browsed.settings)
    app = browse_app(browsed, guard or Guard("127.0.0.1", PORT))
    return TestClient(app, base_url=address, follow_redirects=False)
