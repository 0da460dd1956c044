"""The law of a real model, weak as it may be: the default pipeline judges with it to the end.

    COSQA_LOCAL_MODEL=http://127.0.0.1:8080/v1 pytest -m nightly tests/flows/test_local_model.py

Right labels are not asked for: `cosqa check-model` says how many a model gives.
"""

import os
from pathlib import Path

import pytest

from tests.flows.cases import CASES
from tests.flows.world import World, environment

ADDRESS = os.environ.get("COSQA_LOCAL_MODEL", "")

pytestmark = [
    pytest.mark.docker, pytest.mark.nightly, pytest.mark.slow(1_800),
    pytest.mark.usefixtures("engine"),
    pytest.mark.skipif(not ADDRESS, reason="COSQA_LOCAL_MODEL names no server of a real model"),
]  # fmt: skip


def test_pairs_are_judged_to_the_end_and_no_reply_is_asked_for_twice(
    folder: Path, prefect_server: str
) -> None:
    env = environment(
        ADDRESS,
        PREFECT_API_URL=prefect_server,
        COSQA_LLM__MODEL="openai/local",
        COSQA_ANNOTATION__CONFIGURATION="spec",
    )
    del env["COSQA_LLM__MAX_RETRIES"], env["COSQA_ANNOTATION__MAX_TRY_TIME"]
    world = World(folder, env)
    world.write(list(CASES.values()))
    ran = world.run_alone("benchmark")
    assert ran.returncode == 0, ran.stdout
    statuses = [str(status) for (status,) in world.rows("SELECT status FROM annotations")]
    assert len(statuses) == len(CASES), ran.stdout
    assert "failed" not in statuses, "a slow reply is no failure"
    asked = "SELECT count(*), count(DISTINCT prompt_digest) FROM llm_calls WHERE NOT cached"
    [(sent, distinct)] = world.rows(asked)
    assert sent == distinct
    assert world.run_alone("benchmark").stdout.count("Nothing was left to do") == 1
    assert world.rows(asked) == [(sent, distinct)]
