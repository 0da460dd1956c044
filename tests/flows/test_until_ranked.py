"""Laws of runs that judge until methods are ranked: they judge no more, and say what they spared.

Covers `tasks.stages.standing`.
"""

import re
from pathlib import Path

import pytest

from tasks.stages.standing import query_counts
from tests.fakes.llm_server import ScriptedServer
from tests.flows.world import YES, World, additions, environment

pytestmark = pytest.mark.slow

CASES = additions(45)


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> World:
    more = {"PREFECT_API_URL": prefect_server, "COSQA_ANNOTATION__CONFIGURATION": "single"}
    world = World(tmp_path_factory.mktemp("world"), environment("", **more))
    world.write(CASES, labels=False)
    assert world.run("collect").returncode == 0
    return world


@pytest.fixture
def world(collected: World, folder: Path, agreeing: ScriptedServer) -> World:
    return collected.copy(folder, agreeing.base_url)


def judged(world: World) -> set[str]:
    return {str(query) for (query,) in world.rows("SELECT DISTINCT query_id FROM annotations")}


@pytest.mark.exhaustive
def test_a_run_ends_once_the_first_methods_are_ranked_and_goes_on_where_they_are_not(
    world: World, agreeing: ScriptedServer
) -> None:
    methods = ("--method", "bm25", "--method", "bm25+bm25", "--until-ranked", "1")
    near = world.run("annotate", *methods, "--margin", "1")
    assert near.returncode == 0, near.stdout
    told = " ".join(near.stdout.split())
    assert "20 pairs judged; ranked after 20 queries, 20 with a match, by NDCG@10" in told
    assert "within the margin (+0.000" in told
    assert "the other 25 pairs are not judged; expected: tokens" in told
    assert len(agreeing.calls) == 20
    first = judged(world)

    world.run("annotate", *methods, "--margin", "1")
    assert len(agreeing.calls) == 20, "what is known is looked at, and nothing is paid"

    never = world.run("annotate", *methods, "--margin", "0")
    assert never.returncode == 0, never.stdout
    told = " ".join(never.stdout.split())
    assert "25 pairs judged; not ranked after 45 queries, 45 with a match" in told
    assert "no pair is left" in told
    assert first < judged(world)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("bound", "judged", "told"),
    [
        (
            ("--budget-usd", "0.033"),  # a pair costs 0.0013
            range(21, 26),
            (
                "not ranked, the budget is spent after 20 queries, 20 with a match, by NDCG@10: "
                "bm25 before bm25+bm25: open (+0.000"
            ),
        ),
        (
            ("--budget-usd", "0.01"),
            range(1, 8),
            "not ranked, the budget is spent before the first 20 queries were judged",
        ),
        (
            ("--set", "llm.budget_usd=0.01"),
            range(1, 8),
            "not ranked, the budget is spent before the first 20 queries were judged",
        ),
        (
            ("--set", "reannotation.pairs=20"),
            range(20, 21),
            "not ranked, 20 pairs were asked for after 20 queries, 20 with a match",
        ),
    ],
)
def test_a_run_whose_means_end_midway_says_what_is_open_and_what_the_rest_would_cost(
    world: World, agreeing: ScriptedServer, bound: tuple[str, str], judged: range, told: str
) -> None:
    usage = {"prompt_tokens": 500, "completion_tokens": 2_000, "total_tokens": 2_500}
    agreeing.follow([YES | {"steps": [YES["steps"][0] | {"usage": usage}]}])
    world.env |= {"COSQA_LLM__MODEL": "openai/gpt-4o-mini", "COSQA_ANNOTATION__IN_FLIGHT": "1"}
    methods = ("--method", "bm25", "--method", "bm25+bm25", "--until-ranked", "1", "--margin", "0")
    ended = world.run("annotate", *methods, *bound)
    assert ended.returncode == 0, ended.stdout
    said = " ".join(ended.stdout.split())
    [(stored,)] = world.rows("SELECT count(*) FROM annotations")
    assert stored in judged
    assert f"{stored} pairs judged; {told}" in said
    rest = re.search(rf"the other {len(CASES) - int(str(stored))} pairs are not judged; (.*)", said)
    assert rest
    assert re.match(r"expected: tokens .*, cost .*\$0\.0", rest[1]), rest[1]


@pytest.mark.exhaustive
def test_a_run_that_must_wait_for_approval_is_refused(
    world: World, agreeing: ScriptedServer
) -> None:
    world.env["COSQA_OPERATION__APPROVE"] = "true"
    ended = world.run("annotate", "--until-ranked", "1")
    assert ended.returncode == 1
    assert "no plan that a person could approve" in " ".join(ended.stdout.split())
    assert not agreeing.calls


def test_looks_come_after_handfuls_that_grow_and_end_with_all_queries() -> None:
    assert list(query_counts(101)) == [20, 30, 40, 50, 60, 72, 86, 101]
    assert list(query_counts(20)) == [20]
    assert list(query_counts(3)) == [3]
