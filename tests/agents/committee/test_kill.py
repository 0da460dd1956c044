"""The law of resumption for the agents: killed in the middle, nothing is paid for twice."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.agents.judging import script
from tests.fakes.llm_server import ScriptedServer

AT_ONCE = 8


def start(server: ScriptedServer, folder: Path, pairs: int) -> subprocess.Popen[str]:
    words = [server.base_url, str(folder), str(pairs), str(AT_ONCE)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.agents.judging", *words], stdout=subprocess.PIPE, text=True
    )


def finished(process: subprocess.Popen[str]) -> list[str]:
    said, _ = process.communicate(timeout=240)
    assert process.returncode == 0
    return sorted(said.splitlines())


def asked(server: ScriptedServer) -> Counter[str]:
    return Counter(json.dumps(call["messages"]) for call in server.calls)


@pytest.mark.parametrize(
    "pairs", [60, pytest.param(500, marks=[pytest.mark.nightly, pytest.mark.slow])]
)
def test_killed_in_the_middle_it_pays_for_no_reply_twice(tmp_path: Path, pairs: int) -> None:
    with ScriptedServer(list(script(pairs, delay_s=0.01))) as server:
        process = start(server, tmp_path / "killed", pairs)
        assert process.stdout is not None
        for _ in range(pairs // 2):
            process.stdout.readline()
        process.kill()
        process.communicate()
        before = len(asked(server))
        resumed = finished(start(server, tmp_path / "killed", pairs))
        counts = asked(server)
    twice = [question for question, times in counts.items() if times > 1]
    assert pairs // 2 <= before < len(counts)
    assert len(twice) <= AT_ONCE, "only what was on the wire at the kill was asked again"
    assert len(resumed) == pairs

    with ScriptedServer(list(script(pairs, delay_s=0.0))) as server:
        assert finished(start(server, tmp_path / "undisturbed", pairs)) == resumed
        assert asked(server).keys() == counts.keys()
