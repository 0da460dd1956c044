"""Unjudged results are annotated, and scores are shown before and after.

Covers `tasks.stages.pooling`.
"""

from pathlib import Path

import pytest

from tasks.inputs.formats.export import read_benchmark
from tasks.reports.diff import difference
from tests.fakes.llm_server import ScriptedServer
from tests.flows.cases import CASES, script
from tests.flows.world import World, environment

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.usefixtures("engine")]
METHOD = "bow-sklearn"  # it ranks all codes, those too that share no word with the query


@pytest.mark.nightly
def test_unjudged_results_are_judged_once_and_scored_again(
    folder: Path, prefect_server: str
) -> None:
    cases = {name: CASES[name] for name in ("clear_match", "clear_non_match")}
    with ScriptedServer(script(cases)) as model:
        world = World(folder, environment(model.base_url, PREFECT_API_URL=prefect_server))
        world.write(list(cases.values()))
        first = world.run("benchmark", "--method", METHOD)
        assert first.returncode == 0, first.stdout
        assert len(model.calls) == 2

        options = ["--benchmark", str(world.output / "jsonl-agents"), "--method", METHOD]
        options.append("--annotate-unjudged")
        some = world.run_on_folder("leaderboard", *options, "--set", "reannotation.pairs=1")
        assert len(model.calls) == 3, some.stdout
        all_of_them = world.run_on_folder("leaderboard", *options)
        assert len(model.calls) == 4, "each unjudged pair is sent once"
    with_both = {case.query: {other.code for other in cases.values()} for case in cases.values()}
    sent = {(call["query"], call["code"]) for call in model.calls}
    assert sent == {(query, code) for query, codes in with_both.items() for code in codes}
    for run, judged in ((some, "0.750"), (all_of_them, "1.000")):
        assert run.returncode == 0, run.stdout
        before, after = (line for line in run.stdout.splitlines() if line.startswith(f"a {METHOD}"))
        assert (before.split()[-1], after.split()[-1]) == ("0.500", judged)
    _the_next_version_has_the_new_labels(world)
    page = next((world.output / "leaderboards").glob("*/leaderboard.html")).read_text()
    assert "Scores after they were judged" in page


def _the_next_version_has_the_new_labels(world: World) -> None:
    old, version = world.output / "jsonl-agents", world.folder / "second"
    published = world.run("publish", "--output", str(version))
    assert published.returncode == 0, published.stdout
    new = version / "jsonl-agents"
    first, second = read_benchmark(old), read_benchmark(new)
    assert (len(first.labels), len(second.labels)) == (2, 4)
    assert {label.origin for label in second.labels} == {first.label_origin}
    assert len(second.evidence) == 4, "each label has its evidence"
    change = difference(first, second)
    assert (len(change.pairs_added), change.pairs_removed, change.kept) == (2, (), 2)
    assert (change.flips, change.recipe) == ((), {})
