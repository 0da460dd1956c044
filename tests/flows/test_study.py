"""A study from end to end: real runs of the agents, then the papers' figures of what is stored.

Covers `flows.study`, `tasks.stages.study.report`.
"""

from pathlib import Path

import pytest

from tasks.reports.study import Line, StudySection
from tasks.stages.study.report import read_report
from tests.fakes.llm_server import ScriptedServer
from tests.flows.cases import CASES
from tests.flows.world import World, read, reading_world

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

ROOT = Path(__file__).parents[2]
NAMES = ("clear_match", "clear_non_match", "unclear_passed")


def sections(world: World) -> dict[str, StudySection]:
    return {each.study: each for each in read_report(world.output / "studies" / "jsonl").sections}


def figures(world: World) -> dict[tuple[str, str, str], Line]:
    return {
        (study, line.row, line.column): line
        for study, section in sections(world).items()
        for line in section.lines
    }


def problems(world: World) -> dict[str, str]:
    return {study: section.problem for study, section in sections(world).items()}


def test_what_can_be_computed_is_and_the_rest_says_what_it_needs(
    folder: Path, prefect_server: str
) -> None:
    cases = [CASES[name] for name in NAMES]
    verdicts = ("answers", "does_not_answer", "answers")
    rules = [read(each) | {"query": case.query} for case, each in zip(cases, verdicts, strict=True)]
    with ScriptedServer(rules) as model:
        world = reading_world(folder, model.base_url, prefect_server, PYTHONPATH=str(ROOT))
        world.write(cases, labels=False)
        assert world.run("benchmark", "--top-k", "2").returncode == 0
        done = world.run("study", "--top-k", "2")
    assert done.returncode == 0, done.stdout
    found = figures(world)
    # Queries 0 and 2 get label 1 for both of their candidates, query 1 none.
    assert found["size", "pairs", "benchmark"].ours == 6
    assert found["matches-of-queries", "0 matches", "queries"].ours == 1
    assert found["matches-of-queries", "2 matches", "share"].ours == pytest.approx(2 / 3)
    assert found["matches-by-rank", "rank 2", "share"].ours == pytest.approx(2 / 3)
    assert found["cost", "all", "pairs"].ours == 6
    assert found["cost", "all", "dollars"].ours is None
    assert found["retrieval", "bm25", "MRR@10"].n == 2
    assert found["matches-and-scores", "bm25", "MMRR, 2 matches"].n == 2
    conditions = read_report(world.output / "studies" / "jsonl").conditions
    assert (conditions["queries"], conditions["model"]) == ("3", "openai/scripted")
    missing = problems(world)
    assert missing["annotators"] == "no file of compared annotators is given"
    assert "study.html" in done.stdout


def test_without_labels_some_tables_are_given_and_no_model_is_needed(
    folder: Path, prefect_server: str
) -> None:
    world = reading_world(folder, "", prefect_server, PYTHONPATH=str(ROOT))
    world.env = {k: v for k, v in world.env.items() if not k.startswith("COSQA_LLM__")}
    world.write([CASES["clear_match"], CASES["clear_non_match"]])
    assert world.run("collect").returncode == 0
    without = world.run("study")
    assert without.returncode == 0, without.stdout
    assert "run `cosqa annotate`" in without.stdout
    computed = {name for name, problem in problems(world).items() if not problem}
    assert computed == {"corpus", "overlap"}
    assert figures(world)["overlap", "minilm", "overlap"].ours == 1.0
