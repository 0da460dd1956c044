"""Laws of commands that find nothing to do: the store alone says so, and only where it is so.

Covers `tasks.stages.up_to_date`.
"""

from pathlib import Path
from typing import Any

import pytest

from infra.settings import load_settings
from tasks.stages.preflight import check_inputs
from tasks.stages.up_to_date import found_done
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import YES, World, additions, reading_world

pytestmark = [pytest.mark.slow(90), pytest.mark.nightly]

COMMANDS = ("collect", "annotate", "publish", "evaluate", "benchmark")
EXPORTING = {"publish", "benchmark"}  # evaluate scores what is exported, by whatever settings
CASES = additions(2)
Change = dict[str, dict[str, object]]


def idle(world: World, monkeypatch: pytest.MonkeyPatch, change: Change | None = None) -> set[str]:
    """Return the commands that find nothing to do with these settings."""
    for name, value in world.env.items():
        monkeypatch.setenv(name, value)
    given: Change = {
        "source": {"name": "jsonl", "path": str(world.source)},
        "search": {"top_k": 1},
        "store": {"folder": str(world.store)},
        "publish": {"folder": str(world.output)},
    }
    ready = check_inputs(load_settings(given | (change or {})))
    return {command for command in COMMANDS if found_done(command, ready)}


def test_what_was_done_is_not_done_again_and_what_was_not_is(
    tmp_path: Path, prefect_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedServer([YES]) as model:
        world = reading_world(tmp_path, model.base_url, prefect_server)
        world.write(CASES)
        monkeypatch.chdir(tmp_path)
        assert idle(world, monkeypatch) == set(), "nothing is collected"
        first = world.run("benchmark")
        assert first.returncode == 0, first.stdout
        assert idle(world, monkeypatch) == {*COMMANDS}

        world.env["PREFECT_API_URL"] = "http://127.0.0.1:9/api"  # where no server is
        again = world.run_alone("benchmark")
        assert again.returncode == 0, again.stdout
        told = [line for line in again.stdout.splitlines() if line != "starting …"]
        assert told[0] == "Nothing was left to do for jsonl: everything is up to date."
        assert [line.partition(":")[0] for line in told[1:]] == [
            "benchmark jsonl", "benchmark jsonl-agents", "report",
        ]  # fmt: skip

        for changed, change in (
            ({"evaluate", "benchmark"}, {"evaluation": {"methods": ["bm25", "tf-idf+bm25"]}}),
            ({"annotate", "benchmark"}, {"llm": {"model": "openai/another"}}),
            ({*COMMANDS}, {"search": {"top_k": 2}}),
            ({*COMMANDS}, {"search": {"top_k": 1, "encoders": ["unixcoder"]}}),
            (EXPORTING, {"publish": {"folder": str(world.output), "include_unlicensed": True}}),
        ):
            found: Any = change
            assert idle(world, monkeypatch, found) == {*COMMANDS} - changed, change

        (world.output / "report.html").unlink()
        assert idle(world, monkeypatch) == {*COMMANDS} - {"evaluate", "benchmark"}
        (world.output / "jsonl" / "README.md").unlink()
        assert idle(world, monkeypatch) == {"collect", "annotate"}
        with world.database().transaction() as tx:
            tx.execute("DELETE FROM annotations WHERE rowid = (SELECT min(rowid) FROM annotations)")
        assert idle(world, monkeypatch) == {"collect"}
        (file,) = world.store.glob("vectors/*/code-*.arrow")
        file.unlink()
        assert idle(world, monkeypatch) == set()
