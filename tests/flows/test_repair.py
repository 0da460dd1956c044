"""Laws of a repair: planted faults are found, right labels stay, and methods stand as they should.

Covers `tasks.stages.repair`, `tasks.reports.repair`.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tasks.inputs.formats import read
from tests.fakes.faulty_benchmark import FaultyBenchmark, faulty_benchmark
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import COSQA, Finished, World, environment
from tests.flows.world import read as judged

pytestmark = pytest.mark.slow

METHODS = ("bm25", "tf-idf", "bag-of-words", "bow-sklearn", "lucene")
MADE = faulty_benchmark(30, wrong=0.10, missing=0.15, seed=0)


def truthful(made: FaultyBenchmark) -> list[dict[str, Any]]:
    """Return the script of a model that tells the truth of each pair."""
    right = [
        judged("answers") | {"query": made.queries[query], "code": made.codes[code].split("\n")[0]}
        for query, code in sorted(made.truth)
    ]
    return [*right, judged("does_not_answer") | {"query": "*"}]


@pytest.fixture
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(truthful(MADE)) as server:
        yield server


@pytest.fixture
def world(folder: Path, model: ScriptedServer, prefect_server: str) -> World:
    more = {"PREFECT_API_URL": prefect_server, "COSQA_ANNOTATION__CONFIGURATION": "single"}
    MADE.write(folder / "beir")
    return World(folder, environment(model.base_url, **more))


def command(world: World, *options: str) -> list[str]:
    named = [word for method in METHODS for word in ("--method", method)]
    places = ["--store", str(world.store), "--output", str(world.output)]
    return [COSQA, "repair", str(world.folder / "beir"), *named, *places, *options]


def repaired(world: World, *options: str) -> Finished:
    return world.finish(command(world, *options))


def changes(world: World) -> list[dict[str, Any]]:
    (file,) = (world.output / "repairs").glob("*/changes.jsonl")
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def turned(world: World) -> dict[tuple[str, str], tuple[float | None, float]]:
    return {(row["query_id"], row["code_id"]): (row["old"], row["new"]) for row in changes(world)}


def assert_planted(found: Mapping[tuple[str, str], tuple[float | None, float]]) -> None:
    """All planted faults are found, and no right label is changed; what else is new is 0."""
    others = dict.fromkeys(found.keys() - MADE.wrong - MADE.missing, (None, 0.0))
    doubted = dict.fromkeys(MADE.wrong, (1.0, 0.0))
    assert found == others | doubted | dict.fromkeys(MADE.missing, (None, 1.0))


def state(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_planted_faults_are_found_and_right_labels_stay(
    world: World, model: ScriptedServer
) -> None:
    original = state(world.folder / "beir")
    world.env["COSQA_LLM__API_KEY"] = ""
    plan = repaired(world, "--plan")
    assert plan.returncode == 0, plan.stdout
    assert "expected" in plan.stdout
    assert not model.calls, "a plan asks no model, and needs no key"

    world.env["COSQA_LLM__API_KEY"] = "scripted-key"
    done = repaired(world)
    assert done.returncode == 0, done.stdout
    assert "Kendall's τ of the methods' order: 0.000" in done.stdout
    assert_planted(turned(world))
    assert all(row["evidence"][0]["calls"][0]["reply"] for row in changes(world))

    version = read(world.output / "beir-repaired")
    right = {(label.query_id, label.code_id) for label in version.labels if label.relevance > 0}
    assert right == MADE.truth
    assert {source.licence for source in version.sources} == {"MIT"}
    (task,) = (world.output / "repairs").glob("*/mteb")
    as_task = read(task)
    labels = {(label.query_id, label.code_id, label.relevance) for label in version.labels}
    assert {(each.query_id, each.code_id, each.relevance) for each in as_task.labels} == labels
    assert state(world.folder / "beir") == original, "nothing of the original is written"
    (page,) = (world.output / "repairs").glob("*/repair.html")
    assert "6 of 57 (10.5%)" in page.read_text("utf-8")
    text = page.with_name("maintainers.md").read_text("utf-8")
    assert all(word in text for word in ("What:", "How:", "How sure:", "How to see it:"))

    asked = len(model.calls)
    again = repaired(world)
    assert again.returncode == 0, again.stdout
    assert len(model.calls) == asked, "nothing is paid twice"


def test_a_repair_that_is_bounded_or_killed_goes_on_and_pays_for_each_pair_once(
    world: World, model: ScriptedServer
) -> None:
    licence = world.folder / "beir" / "LICENSE"
    licence.rename(world.folder / "LICENSE")
    refused = repaired(world)
    assert refused.returncode == 1
    assert "the licence of 120 codes of beir is unknown" in " ".join(refused.stdout.split())
    assert not model.calls, "before anything is paid for"
    (world.folder / "LICENSE").rename(licence)

    positives = len(MADE.graded)
    some = repaired(world, "--set", f"reannotation.pairs={positives}")
    assert some.returncode == 0, some.stdout
    asked = {(call["query"], call["code"]) for call in model.calls}
    texts = {(MADE.queries[query], MADE.codes[code].strip()) for query, code in MADE.graded}
    assert {(query, code.strip()) for query, code in asked} == texts, "positives come first"
    assert turned(world) == dict.fromkeys(MADE.wrong, (1.0, 0.0))

    world.kill_command_when(command(world), lambda: len(model.answered) > positives + 20)
    assert world.all_have_ended()
    ended = repaired(world)
    assert ended.returncode == 0, ended.stdout
    assert_planted(turned(world))
    answered = Counter((call["query"], call["code"]) for call in model.answered)
    assert max(answered.values()) <= 2, "a pair in flight when the run was killed"
    assert sum(answered.values()) - len(answered) <= 16
