"""The law of the canaries: a model that gets known answers wrong is stopped, with the reason."""

from pathlib import Path

import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import Case, World, environment, screened

pytestmark = [pytest.mark.docker, pytest.mark.nightly, pytest.mark.usefixtures("engine")]

CASES = [
    Case(f"add {number} to a value", f"def plus_{number}(value):\n    return value + {number}", ())
    for number in range(60)
]


def test_a_model_that_accepts_every_pair_is_stopped_and_its_annotations_are_kept(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer([screened("clear_match")]) as model:
        world = World(
            folder,
            environment(
                model.base_url,
                PREFECT_API_URL=prefect_server,
                COSQA_ANNOTATION__CANARIES="12",
                COSQA_ANNOTATION__IN_FLIGHT="2",
            ),
        )
        world.write(CASES)
        stopped = world.run("benchmark")
    assert stopped.returncode == 1
    assert "judged 4 of 6 pairs with known answers wrongly (4 false passes, 0" in stopped.stdout
    (kept,) = world.rows("SELECT count(*) FROM annotations SEMI JOIN candidates USING (code_id)")
    assert 0 < int(str(kept[0])) <= len(CASES)
