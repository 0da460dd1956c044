"""Runs of many pairs through Prefect's server, Ray and the store: 480 and 3,000."""

from pathlib import Path

import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import Case, World, environment, read

pytestmark = pytest.mark.nightly

QUERIES = 60
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
JUDGE = read("answers")


@pytest.mark.parametrize("top_k", [8, 50])
def test_many_pairs_are_judged_once_each(folder: Path, prefect_server: str, top_k: int) -> None:
    pairs = QUERIES * top_k
    with ScriptedServer([JUDGE]) as model:
        world = World(
            folder,
            environment(
                model.base_url,
                PREFECT_API_URL=prefect_server,
                COSQA_ANNOTATION__CONFIGURATION="single",
                COSQA_ANNOTATION__CANARIES="12",
                COSQA_ANNOTATION__CANARY_LIMIT="1",
                COSQA_ANNOTATION__IN_FLIGHT="32",
            ),
        )
        world.write(CASES, labels=False)
        collected = world.run("collect", "--top-k", str(top_k))
        assert collected.returncode == 0, collected.stdout
        annotated = world.run("annotate", "--top-k", str(top_k))
        assert annotated.returncode == 0, annotated.stdout[-5000:]
        assert len(model.calls) == pairs + 12
        again = world.run("annotate", "--top-k", str(top_k))
        assert "Nothing was left to do" in again.stdout
        assert len(model.calls) == pairs + 12, "no pair is asked twice"
    ((rows, distinct),) = world.rows(
        "SELECT count(*), count(DISTINCT (query_id, code_id)) FROM annotations "
        "SEMI JOIN candidates USING (query_id, code_id) WHERE status = 'labelled'"
    )
    assert (rows, distinct) == (pairs, pairs)
