"""The law of gold questions in whole runs: who fails the first judges nothing, and is held."""

import json
from pathlib import Path

import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import World, additions, environment

CASES = additions(4)
WRONG = "judged 3 of 6 pairs with known labels wrongly (3 false passes, 0 false fails, 0 without"


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> World:
    env = environment(
        "",
        PREFECT_API_URL=prefect_server,
        COSQA_ANNOTATION__CONFIGURATION="single",
        COSQA_ANNOTATION__GOLD_QUESTIONS="12",
    )
    world = World(tmp_path_factory.mktemp("world"), env)
    world.write(CASES)
    assert world.run("collect").returncode == 0
    return world


@pytest.fixture
def world(collected: World, folder: Path, agreeing: ScriptedServer) -> World:
    return collected.copy(folder, agreeing.base_url)


def test_a_model_that_fails_the_first_questions_judges_no_pair_and_its_labels_are_held(
    world: World, agreeing: ScriptedServer
) -> None:
    ended = world.run("annotate")
    assert ended.returncode == 1
    assert WRONG in ended.stdout
    assert "`cosqa check-model --model NAME`" in ended.stdout
    assert len(agreeing.calls) == 6, "the first handful is paid, and nothing else"
    again = world.run("annotate")
    assert (again.returncode, WRONG in again.stdout, len(agreeing.calls)) == (1, True, 6)

    accepted = world.run("annotate", "--accept-gold")
    assert accepted.returncode == 0, accepted.stdout
    assert "4 pairs judged" in accepted.stdout, "gold questions are counted apart"
    held = world.run("publish")
    assert (held.returncode, "--accept-gold" in held.stdout) == (1, True)
    assert not (world.output / "jsonl-agents").exists()

    assert world.run("publish", "--accept-gold").returncode == 0
    exported = world.output / "jsonl-agents"
    manifest = json.loads((exported / "manifest.json").read_text("utf-8"))
    assert manifest["accepts_gold"]
    assert manifest["recipes"][0]["gold"]["false_passes"] == 6
    card = " ".join((exported / "README.md").read_text("utf-8").split())
    assert "Of 12 pairs with known labels, openai/scripted judged 6 wrongly" in card
    assert "published whatever these say (`--accept-gold`)" in card
    assert "accept_gold" not in (world.folder / "cosqa.toml").read_text("utf-8")


def test_a_model_that_passes_is_published_with_its_counts_and_no_remark(
    world: World,
) -> None:
    world.env["COSQA_ANNOTATION__GOLD_LIMIT"] = "0.5"
    assert world.run("annotate").returncode == 0
    assert world.run("publish").returncode == 0
    card = (world.output / "jsonl-agents" / "README.md").read_text("utf-8")
    assert "openai/scripted judged 3 wrongly" in " ".join(card.split())
    assert "--accept-gold" not in card
