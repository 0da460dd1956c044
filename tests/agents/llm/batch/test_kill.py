"""The law of resumption for batches: killed at any moment, a run finds its batches again."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.agents.judging import script
from tests.fakes.llm_server import ScriptedServer

PAIRS = 9
ALONE = 3  # requests that find the format, one for each step


def start(server: ScriptedServer, folder: Path) -> subprocess.Popen[str]:
    words = [server.base_url, str(folder), str(PAIRS)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.agents.llm.batch.batching", *words],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize(
    "moments",
    [["POST /batches"], ["POST /files", "POST /batches", "GET /batches/", "GET /files/"] * 2],
)
def test_a_run_that_is_killed_submits_no_request_twice(tmp_path: Path, moments: list[str]) -> None:
    with ScriptedServer(list(script(PAIRS, delay_s=0.0))) as server:
        for moment in moments:
            seen = len(server.batches.log)
            process = start(server, tmp_path)
            while not any(entry.startswith(moment) for entry in server.batches.log[seen:]):
                if process.poll() is not None:
                    break
                time.sleep(0.001)
            process.kill()
            process.communicate()
        said, _ = start(server, tmp_path).communicate(timeout=240)
    asked = Counter(json.dumps(call["messages"]) for call in server.calls)
    assert len(said.splitlines()) == PAIRS
    assert "None" not in said
    assert set(server.batches.requests.values()) == {1}
    assert [question for question, times in asked.items() if times > 1] == []
    assert sum(server.batches.requests.values()) >= len(asked) - ALONE - len(moments)
