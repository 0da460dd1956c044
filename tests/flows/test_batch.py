"""Laws of whole runs by batches: the same labels, and after a kill no request is paid for twice.

Covers `tasks.stages.annotate.batches`.
"""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.cases import CASES, script
from tests.flows.world import World, environment

pytestmark = [
    pytest.mark.docker,
    pytest.mark.exhaustive,
    pytest.mark.usefixtures("engine"),
]

SETTLED = {
    name: case
    for name, case in CASES.items()
    if name not in ("model_unavailable", "unreadable_reply")
}


def submitted(model: ScriptedServer, number: int) -> Callable[[], bool]:
    return lambda: len(model.batches.batches) >= number


@pytest.mark.nightly
@pytest.mark.slow(90)
def test_a_run_by_batches_gives_each_pair_its_path_and_a_killed_one_finds_its_batches(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer(list(script(SETTLED))) as model:
        model.batches.polls = 3
        world = World(
            folder,
            environment(
                model.base_url,
                PREFECT_API_URL=prefect_server,
                COSQA_ANNOTATION__BATCH="true",
                COSQA_ANNOTATION__BATCH_POLL_S="0.5",
            ),
        )
        world.write(list(SETTLED.values()))
        collected = world.run("collect")
        assert collected.returncode == 0, collected.stdout[-5000:]
        for number in (1, 2, 3):
            world.kill_when("annotate", submitted(model, number))
        last = world.run("annotate")
        assert last.returncode == 0, last.stdout[-5000:]
        asked = Counter(json.dumps(call["messages"]) for call in model.calls)
        again = world.run("annotate")
    assert "requests are to be answered by batches" in last.stdout
    paths = world.rows("SELECT path FROM annotations ORDER BY path")
    assert [path for (path,) in paths] == sorted(SETTLED)
    assert set(asked.values()) == {1}
    assert set(model.batches.requests.values()) == {1}
    assert "Nothing was left to do" in again.stdout
    assert world.rows("SELECT count(*) FROM llm_calls WHERE cached") == [(0,)]


def test_batches_are_refused_where_there_are_none_before_anything_is_done(
    folder: Path, prefect_server: str
) -> None:
    with ScriptedServer(list(script(SETTLED))) as model:
        world = World(folder, environment(model.base_url, PREFECT_API_URL=prefect_server))
        world.write(list(SETTLED.values()))
        refused = world.run("benchmark", "--batch", "--model", "anthropic/claude-3-5-haiku-latest")
    assert refused.returncode
    assert "not to anthropic: leave out --batch" in " ".join(refused.stdout.split())
    assert model.calls == []
