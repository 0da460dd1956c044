"""Laws of a repair: planted faults are found, right labels stay, and methods stand as they should.

Covers `tasks.stages.repair`, `tasks.reports.repair`.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from infra.identity import CodeId, QueryId
from infra.records import Code, Query
from tasks.benchmarks import qrels_of
from tasks.inputs.formats import read
from tasks.metrics import Qrels, evaluate, mean
from tasks.ranking.methods import Ranker, VectorSource
from tests.fakes.benchmarks import FaultyBenchmark, faulty_benchmark
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import COSQA, Finished, World, environment
from tests.flows.world import read as judged

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

METHODS = ("bm25", "tf-idf", "bag-of-words", "bow-sklearn", "lucene")


def truthful(made: FaultyBenchmark) -> list[dict[str, Any]]:
    """Return the script of a model that tells the truth of each pair."""
    right = [
        judged("answers") | {"query": made.queries[query], "code": made.codes[code].split("\n")[0]}
        for query, code in sorted(made.truth)
    ]
    return [*right, judged("does_not_answer") | {"query": "*"}]


@pytest.fixture(params=[30, pytest.param(300, marks=pytest.mark.nightly)])
def made(request: pytest.FixtureRequest) -> FaultyBenchmark:
    return faulty_benchmark(request.param, wrong=0.10, missing=0.15, seed=0)


@pytest.fixture
def model(made: FaultyBenchmark) -> Iterator[ScriptedServer]:
    with ScriptedServer(truthful(made)) as server:
        yield server


@pytest.fixture
def world(folder: Path, made: FaultyBenchmark, model: ScriptedServer, prefect_server: str) -> World:
    more = {"PREFECT_API_URL": prefect_server, "COSQA_ANNOTATION__CONFIGURATION": "single"}
    made.write(folder / "beir")
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


def assert_planted(
    made: FaultyBenchmark, found: Mapping[tuple[str, str], tuple[float | None, float]]
) -> None:
    """All planted faults are found, and no right label is changed; what else is new is 0."""
    others = dict.fromkeys(found.keys() - made.wrong - made.missing, (None, 0.0))
    doubted = dict.fromkeys(made.wrong, (1.0, 0.0))
    assert found == others | doubted | dict.fromkeys(made.missing, (None, 1.0))


def order_of(world: World) -> list[str]:
    """Return the methods by their scores on the next version."""
    version = read(world.output / "beir-repaired")
    return ordered(version.queries, version.codes, qrels_of(version.labels))


def true_order(made: FaultyBenchmark) -> list[str]:
    """Return the methods by their scores on the truth."""
    queries = [Query(query_id=QueryId(key), text=text) for key, text in made.queries.items()]
    codes = [Code(code_id=CodeId(key), text=text) for key, text in made.codes.items()]
    truth: dict[str, dict[str, float]] = {}
    for query, code in made.truth:
        truth.setdefault(query, {})[code] = 1.0
    return ordered(queries, codes, truth)


def ordered(queries: Sequence[Query], codes: Sequence[Code], qrels: Qrels) -> list[str]:
    ranker = Ranker(queries, codes, cast("VectorSource", None))  # words alone
    scores = {
        method: mean(evaluate(ranker.rank(method, 10), qrels, ["NDCG@10"])["NDCG@10"].values())
        for method in METHODS
    }
    assert len(set(scores.values())) == len(METHODS), "no two are equal"
    return sorted(scores, key=lambda method: -scores[method])


def assert_written(world: World, made: FaultyBenchmark) -> None:
    """The next version, the mteb task, the page and the maintainers' text say what is true."""
    version = read(world.output / "beir-repaired")
    right = {(label.query_id, label.code_id) for label in version.labels if label.relevance > 0}
    assert right == made.truth
    assert {source.licence for source in version.sources} == {"MIT"}
    stated = {(row["query_id"], row["code_id"]): row["new"] for row in changes(world)}
    assert {one.key: one.label for one in version.evidence} == stated, "and what they rest on"
    (task,) = (world.output / "repairs").glob("*/mteb")
    as_task = read(task)
    labels = {(label.query_id, label.code_id, label.relevance) for label in version.labels}
    assert {(each.query_id, each.code_id, each.relevance) for each in as_task.labels} == labels
    (page,) = (world.output / "repairs").glob("*/repair.html")
    doubted = f"{len(made.wrong):,} of {len(made.graded):,} (10.5%)"
    assert doubted in page.read_text("utf-8")
    text = page.with_name("maintainers.md").read_text("utf-8")
    assert all(word in text for word in ("What:", "How:", "How sure:", "How to see it:"))


def state(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_planted_faults_are_found_and_right_labels_stay(
    world: World, made: FaultyBenchmark, model: ScriptedServer
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
    before = {30: "0.000", 300: "0.400"}[len(made.queries)]
    assert f"Kendall's τ of the methods' order: {before}" in done.stdout
    assert_planted(made, turned(world))
    assert all(row["evidence"][0]["calls"][0]["reply"] for row in changes(world))

    assert_written(world, made)
    assert order_of(world) == true_order(made), "tau to the true order is 1"
    assert state(world.folder / "beir") == original, "nothing of the original is written"

    asked = len(model.calls)
    again = repaired(world)
    assert again.returncode == 0, again.stdout
    assert len(model.calls) == asked, "nothing is paid twice"


@pytest.mark.nightly
def test_a_repair_that_is_bounded_or_killed_goes_on_and_pays_for_each_pair_once(
    world: World, made: FaultyBenchmark, model: ScriptedServer
) -> None:
    licence = world.folder / "beir" / "LICENSE"
    licence.rename(world.folder / "LICENSE")
    refused = repaired(world)
    assert refused.returncode == 1
    assert f"the licence of {len(made.codes):,} codes of beir is unknown" in " ".join(
        refused.stdout.split()
    )
    assert not model.calls, "before anything is paid for"
    (world.folder / "LICENSE").rename(licence)

    positives = len(made.graded)
    some = repaired(world, "--set", f"reannotation.pairs={positives}")
    assert some.returncode == 0, some.stdout
    asked = {(call["query"], call["code"]) for call in model.calls}
    texts = {(made.queries[query], made.codes[code].strip()) for query, code in made.graded}
    assert {(query, code.strip()) for query, code in asked} == texts, "positives come first"
    assert turned(world) == dict.fromkeys(made.wrong, (1.0, 0.0))

    world.kill_command_when(command(world), lambda: len(model.answered) > positives + 20)
    assert world.all_have_ended()
    ended = repaired(world)
    assert ended.returncode == 0, ended.stdout
    assert_planted(made, turned(world))
    answered = Counter((call["query"], call["code"]) for call in model.answered)
    assert max(answered.values()) <= 2, "a pair in flight when the run was killed"
    assert sum(answered.values()) - len(answered) <= 16
