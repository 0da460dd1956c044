"""A run of 3,000 pairs through Prefect's server, Ray and the store."""

from pathlib import Path

import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import Case, World, environment, rule

pytestmark = pytest.mark.slow

QUERIES, TOP_K, SHARD_SIZE = 60, 50, 50
PAIRS = QUERIES * TOP_K
CASES = [
    Case(
        f"python multiply a number by {number}",
        f"def times_{number}(value):\n"
        f'    """Multiply a value by {number}.\n\n    {"It is only a product. " * 40}\n    """\n'
        f"    return value * {number}",
        (),
    )
    for number in range(QUERIES)
]
JUDGE = rule("judge", {"reply": {"reason": "as scripted", "verdict": "answers"}})


def test_three_thousand_pairs_are_judged_in_shards_whose_cost_does_not_grow(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer([JUDGE]) as model:
        world = World(
            folder,
            environment(
                model.base_url,
                PREFECT_API_URL=prefect_server,
                COSQA_ANNOTATION__CONFIGURATION="single",
                COSQA_ANNOTATION__CANARIES="12",
                COSQA_ANNOTATION__CANARY_LIMIT="1",
                COSQA_ANNOTATION__SHARD_SIZE=str(SHARD_SIZE),
                COSQA_ANNOTATION__CONCURRENCY="16",
            ),
        )
        world.write(CASES, labels=False)
        collected = world.run("collect", "--top-k", str(TOP_K))
        assert collected.returncode == 0, collected.stdout
        annotated = world.run("annotate", "--top-k", str(TOP_K))
        assert annotated.returncode == 0, annotated.stdout[-5000:]
        assert len(model.calls) == PAIRS + 12
        again = world.run("annotate", "--top-k", str(TOP_K))
        assert "Nothing was left to do" in again.stdout
        assert len(model.calls) == PAIRS + 12, "no pair is asked twice"
    ((rows, pairs),) = world.rows(
        "SELECT count(*), count(DISTINCT (query_id, code_id)) FROM annotations "
        "SEMI JOIN candidates USING (query_id, code_id) WHERE status = 'labelled'"
    )
    assert (rows, pairs) == (PAIRS, PAIRS)
