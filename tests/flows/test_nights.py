"""Laws of nights: what prefect.yaml starts by itself stays within its budget, and tells what for.

Covers `flows.annotate`, `flows.entries`, `infra.budget`.
"""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prefect.server.schemas.schedules import CronSchedule

from tests.fakes.llm_server import ScriptedServer
from tests.flows.deployed import DEPLOYMENTS
from tests.flows.world import YES, Case, World, additions, reading_world
from tests.prefect_api import ask

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

CENT = 0.01
# Replies of 2,000 tokens: each pair costs about $0.0013 by the price of gpt-4o-mini.
USAGE = {"prompt_tokens": 500, "completion_tokens": 2_000, "total_tokens": 2_500}
DEAR = YES | {"steps": [YES["steps"][0] | {"usage": USAGE}]}
CASES = additions(12)
SETTINGS = """
[source]
name = "jsonl"
path = "source"
[search]
top_k = 1
[store]
folder = "store"
"""
# A night as the server starts it: collect by its schedule, then annotate by its trigger.
NIGHT = """
import json, sys
from flows import entries
for name, parameters in json.loads(sys.argv[1]).items():
    state = getattr(entries, name)(**parameters, return_state=True)
    print(json.dumps({"ended": [name, state.name, state.message]}))
"""


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer([DEAR]) as server:
        yield server


@pytest.fixture
def world(folder: Path, model: ScriptedServer, prefect_server: str) -> World:
    more = {"COSQA_LLM__MODEL": "openai/gpt-4o-mini", "COSQA_ANNOTATION__IN_FLIGHT": "1"}
    more |= {"COSQA_FOLDER": str(folder)}
    (folder / "cosqa.toml").write_text(SETTINGS, "utf-8")
    (folder / "night.py").write_text(NIGHT, "utf-8")
    return reading_world(folder, model.base_url, prefect_server, **more)


def night(world: World, cases: list[Case]) -> dict[str, tuple[str, str]]:
    """Run what prefect.yaml starts in a night; return flow → name and message of its end."""
    world.write(cases)
    own: dict[str, Any] = DEPLOYMENTS["annotate"]["parameters"] | {"budget_usd": CENT}
    parameters = {"collect": DEPLOYMENTS["collect"].get("parameters", {}), "annotate": own}
    done = world.finish([str(world.folder / "night.py"), json.dumps(parameters)])
    assert done.returncode == 0, done.stdout
    ends = [json.loads(line)["ended"] for line in done.stdout.splitlines() if '{"ended"' in line]
    return {name: (state, message) for name, state, message in ends}


def spending(prefect_server: str) -> dict[str, Any]:
    """Return the newest artifact that says what was spent."""
    wanted = {"artifacts": {"key": {"any_": ["spending-jsonl"]}}, "sort": "CREATED_DESC"}
    found: dict[str, Any] = ask("POST", f"{prefect_server}/artifacts/filter", wanted)[0]
    return found


def test_two_nights_judge_for_a_cent_each_unattended_and_say_what_for(
    world: World, model: ScriptedServer, prefect_server: str
) -> None:
    [schedule] = DEPLOYMENTS["collect"]["schedules"]
    clock = CronSchedule(cron=schedule["cron"], timezone=schedule["timezone"])
    first, second = asyncio.run(clock.get_dates(2, datetime(2026, 1, 1, tzinfo=UTC)))
    assert second - first == timedelta(days=1)
    assert 0 < DEPLOYMENTS["annotate"]["parameters"]["budget_usd"] <= 1

    ends = night(world, CASES[:10])
    assert ends["collect"][0] == "Completed"
    state, message = ends["annotate"]
    assert state == "Completed"
    assert "the budget of this run has" in message
    judged = len(model.calls)
    assert 0 < judged < 10
    told = spending(prefect_server)
    assert f"| new queries | 10 | {judged} | \\$0.00" in told["data"]
    assert f"{10 - judged} pairs wait" in told["data"]
    [(usd,)] = world.rows("SELECT sum(cost_usd) FROM llm_calls WHERE NOT cached")
    assert 0 < float(str(usd)) <= CENT

    ends = night(world, CASES)
    assert ends["annotate"][0] == "Completed"
    assert len(model.calls) == min(12, 2 * judged), "it goes on where the first one ended"
    assert f" of ${CENT}" in spending(prefect_server)["description"]
    [(usd,)] = world.rows("SELECT sum(cost_usd) FROM llm_calls WHERE NOT cached")
    assert CENT < float(str(usd)) <= 2 * CENT
