"""The law of resumption: after a kill in any stage, the same command continues the run.

Covers `flows.runtime.prefect_server`, `tasks.runtime.progress`, `tasks.runtime.progress`.
"""

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.cases import CASES, script
from tests.flows.world import World, environment, stored_items

pytestmark = [
    pytest.mark.docker,
    pytest.mark.nightly,
    pytest.mark.slow(200),
    pytest.mark.usefixtures("engine"),
]

SETTLED = {
    name: case
    for name, case in CASES.items()
    if name not in ("model_unavailable", "unreadable_reply")
}
KEYS = {
    "queries": "query_id",
    "codes": "code_id",
    "candidates": "search_id, query_id, code_id",
    "annotations": "recipe_id, query_id, code_id",
    "executions": "recipe_id, query_id, code_id, ordinal",
    "evaluations": "benchmark_id, method_key",
    "scores": "benchmark_id, method_key, metric, query_id",
}
BENCHMARKS, METHODS, METRICS = 2, 6, 12


def holds(table: str, rows: int) -> Callable[[World], bool]:
    """Return a check whether a table of the store has that many rows."""
    sql = f"SELECT count(*) >= {rows} FROM {table}"
    return lambda world: world.rows(sql)[0][0] is True


EVERY_STAGE = {
    "collect": lambda world: (world.store / "cosqa.duckdb").exists(),
    "embed": holds("vector_files", 1),
    "find candidates": holds("searches", 1),
    "annotate": holds("annotations", 2),
    "publish": lambda world: any(world.output.glob("*")),
    "evaluate": holds("evaluations", 1),
}


def slowly(rule: dict[str, object]) -> dict[str, object]:
    steps = rule["steps"]
    assert isinstance(steps, list)
    return rule | {"steps": [step | {"delay_s": 0.4} for step in steps]}


def request_counts(model: ScriptedServer) -> Counter[tuple[str, str]]:
    return Counter((call["role"], json.dumps(call["messages"])) for call in model.calls)


def test_a_killed_run_continues_without_losing_or_repeating_work(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer([slowly(rule) for rule in script(SETTLED)]) as model:
        world = World(
            folder,
            environment(
                model.base_url,
                PREFECT_API_URL=prefect_server,
                COSQA_ENCODER__SHARD_SIZE="2",
                COSQA_ANNOTATION__IN_FLIGHT="2",
            ),
        )
        world.write(list(SETTLED.values()))

        for name, is_reached in EVERY_STAGE.items():
            world.kill_when("benchmark", partial(is_reached, world))
            if name == "annotate":
                finished = world.rows("SELECT query_id, code_id, seconds FROM annotations")
        last = world.run("benchmark")
        assert last.returncode == 0, last.stdout
        calls = request_counts(model)

    assert set(finished) <= set(world.rows("SELECT query_id, code_id, seconds FROM annotations")), (
        "what was judged before the kill is not judged again"
    )
    repeated = sum(count - 1 for count in calls.values())
    assert repeated <= 2, "only requests in flight are sent twice"
    counts = {}
    for table, key in KEYS.items():
        ((total, distinct),) = world.rows(f"SELECT count(*), count(DISTINCT ({key})) FROM {table}")
        assert total == distinct, table
        counts[table] = total
    n = len(SETTLED)
    vectors = stored_items(world.database())
    assert len(vectors) == len(set(vectors)) == 2 * n
    assert counts == {
        "queries": n,
        "codes": n,
        "candidates": n,
        "annotations": n,
        "executions": 8,
        "evaluations": BENCHMARKS * METHODS,
        "scores": METHODS * METRICS * (n + 4),
    }
    assert sorted(path.name for path in world.output.iterdir()) == [
        "jsonl",
        "jsonl-agents",
        "report.html",
    ]
    assert world.all_have_ended()
