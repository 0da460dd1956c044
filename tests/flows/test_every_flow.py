"""Laws over runs of every flow: parameters and results are small, and the arrows are the DAG.

A shard alone is given texts and gives back evidence: they go by Ray, and Prefect's server has none.

Covers `tasks.runtime.references`, `tasks.runtime.caching`, `flows.runtime.runs`.
"""

import json
import re
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.recording import described, flows_and_tasks
from tests.flows.world import Case, World, read, reading_world, rule
from tests.prefect_api import ask

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

ROOT = Path(__file__).parents[2]
LIMIT = 16 * 1024
SHARD, LIMIT_OF_A_PAIR, PAIRS = "task annotate-shard", 32 * 1024, 64
TEXT = "It returns what it was given and adds a number to it. " * 60
CASES = [
    Case(
        f"python add {number} to a value",
        f'def plus_{number}(value):\n    """Add {number}.\n\n    {TEXT}\n    """\n'
        f"    return value + {number}",
        (),
    )
    for number in range(12)
]
SCRIPT = [
    read("answers") | {"query": CASES[1].query},
    read("does_not_answer"),
    rule("code_writer", {"reply": {"code": CASES[0].code}}),
    rule("query_writer", {"reply": {
        "purpose": "sums", "keywords": "sum of two totals", "question": "How do I total two sums?",
    }}),
]  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Path:
    """The file of what each flow and task was given and has returned, when every flow had run."""
    folder = tmp_path_factory.mktemp("world")
    with ScriptedServer(SCRIPT) as model:
        more = {"PYTHONPATH": str(ROOT), "COSQA_GENERATION__CONFIGURATION": "single"}
        world = reading_world(folder, model.base_url, prefect_server, **more)
        world.write(CASES)
        rows = [{"query": case.query, "code": case.code, "label": 1} for case in CASES]
        other = [row | {"query": f"how to {row['query']}"} for row in rows]
        files = {"truth": rows, "other": other, "train": rows[:6], "test": rows[6:]}
        files |= {"dev": other[:2]}
        for name, some in (files | {"asked": [{"query": CASES[0].query}]}).items():
            world._lines(name, some)
        (world.source / "grades.csv").write_text(
            f"Language,Query,GitHubUrl,Relevance\nPython,{CASES[0].query},u,3\n"
        )
        question = {"stackoverflow_id": 1, "question": CASES[0].query, "answer": "f(x);"}
        (world.source / "questions.json").write_text(json.dumps([question]))
        commands = _commands(world)
        log = folder / "sizes.jsonl"
        words = [word for command in commands for word in ("--", *command)][1:]
        done = world.finish_alone([sys.executable, "-m", "tests.flows.recording", str(log), *words])
        assert done.returncode == 0, done.stdout[-5000:]
    return log


def _commands(world: World) -> list[list[str]]:
    """Return commands that between them call every flow and every task."""
    exported = str(world.output / "jsonl-agents")
    truth, other = (str(world.source / f"{name}.jsonl") for name in ("truth", "other"))
    store = ["--store", str(world.store)]
    places = [*store, "--output", str(world.output)]
    leaderboard = ["leaderboard", "--benchmark", exported, "--method", "bm25", *places]
    return [
        world.command("benchmark", "--top-k", "3")[1:],
        world.command("annotate", "--top-k", "4", "--until-ranked", "2",
                      "--method", "bm25", "--method", "tf-idf")[1:],
        world.command("collect", "--top-k", "5")[1:],
        world.command("collect", "--queries", "written", "--collection", "asked")[1:],
        *(world.command(name, "--top-k", "3")[1:] for name in ("generate", "publish")),
        world.command("evaluate", "--top-k", "3", "--method", FUSED)[1:],
        world.command("study", "--top-k", "3")[1:],
        [*leaderboard, "--annotate-unjudged"],
        ["diff", exported, exported, "--method", "bm25", *places],
        ["repair", exported, "--method", "bm25", "--pool", "1", *places],
        ["estimate", "--train", other, "--queries", truth, *places],
        ["study-kape", "--data", f"own={world.source}", *places],
        ["train", "--data", str(world.source), "--base", "ncs", "--name", "mine", *places],
        ["study-training", "--data", f"own={world.source}", "--base", "ncs", *places],
        ["compare-annotators", "--truth", truth,
         "--configuration", "single", *store],
        ["challenge", "codesearchnet", "--queries", str(world.source / "asked.jsonl"),
         "--annotations", str(world.source / "grades.csv"), "--source", "jsonl",
         "--path", str(world.source), "--method", "bm25", "--pool", "1", *places],
        ["challenge", "neural-code-search", "--questions", str(world.source / "questions.json"),
         "--source", "jsonl", "--path", str(world.source), "--method", "bm25", *places],
    ]  # fmt: skip


def test_no_parameter_and_no_result_of_a_flow_or_task_exceeds_16_kb(log: Path) -> None:
    sizes: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for row in map(json.loads, log.read_text().splitlines()):
        before = sizes[row["name"]]
        sizes[row["name"]] = (max(before[0], row["parameters"]), max(before[1], row["result"]))
    names = {described(item) for item in flows_and_tasks()}
    assert set(sizes) == names, "each flow and task took part"
    figures = 2 * LIMIT  # of a study: its tables have as many rows for a large corpus
    limits = {SHARD: LIMIT_OF_A_PAIR * PAIRS, "task study-kape": figures}
    limits["task kape-report"] = figures
    too_large = {k: size for k, size in sizes.items() if max(size) > limits.get(k, LIMIT)}
    assert too_large == {}


FUSED = "bm25+tf-idf"
METHODS = (
    "bag-of-words", "bm25", "bow-sklearn", "elasticsearch", "lucene", "tf-idf", "minilm",
)  # fmt: skip
READ, EMBED = "read jsonl", "embed the texts of jsonl by minilm"
FIND = "find the top {} codes for each query of jsonl"
PLAN = "plan what to judge of jsonl by openai/scripted"
CHOOSE, SHARDS = "choose the pairs of jsonl", "judge pairs of jsonl by openai/scripted"
LABELS = "labels of jsonl by openai/scripted"
REPORT = "report on jsonl"
STANDING = "compare the first methods on jsonl"
BOARD = "compare all methods on jsonl-agents"
POOL = "add unjudged results of jsonl-agents to its pool"
STUDY, OVERLAP = "report the study of jsonl", "compare the encoders' candidates of jsonl"
REPAIR = "pool what jsonl-agents grades as right or may lack"
OWN_PLAN = "plan what to judge of repair-jsonl-agents by openai/scripted"
OWN_CHOICE = "choose the pairs of repair-jsonl-agents"
ESTIMATE = "estimate the scores of minilm on truth"


def score(method: str, export: str = "jsonl-agents") -> str:
    return f"score {method} on {export}"


def path(*labels: str) -> set[tuple[str, str]]:
    """Return the arrows of stages that follow one another; the first follows none."""
    return set(pairwise(("", *labels)))


def scored(export: str, before: str, after: str) -> set[tuple[str, str]]:
    """Return the arrows of methods that are scored side by side between two stages."""
    names = [score(method, export) for method in METHODS]
    return {(before, name) for name in names} | {(name, after) for name in names}


# What the arrows of each flow's run are: (before, after), by the sentences that the UI shows.
ARROWS: dict[str, set[tuple[str, str]]] = {
    "benchmark": path(
        READ, EMBED, FIND.format(3), PLAN, CHOOSE, SHARDS, LABELS, "publish jsonl", REPORT
    )
    | {(LABELS, "publish jsonl-agents"), ("publish jsonl-agents", REPORT)}
    | scored("jsonl", "publish jsonl", REPORT)
    | scored("jsonl-agents", "publish jsonl-agents", REPORT),
    "annotate": path(FIND.format(4), PLAN, CHOOSE, SHARDS, LABELS, STANDING)
    | path(FIND.format(4), "rank the codes of jsonl by each method"),
    "collect": path(READ, EMBED, FIND.format(5)),
    "collect, written": path(
        "write queries for functions of asked by openai/scripted",
        "read asked",
        "embed the texts of asked by minilm",
        "find the top 1 codes for each query of asked",
        "pool functions of asked that queries were written for",
    ),
    "generate": path("write answers to queries of jsonl by openai/scripted"),
    "publish": path("publish jsonl") | path("publish jsonl-agents"),
    "evaluate": path(score(FUSED, "jsonl"), REPORT) | path(score(FUSED), REPORT),
    "study": scored("jsonl-agents", "", STUDY) | path(OVERLAP, STUDY),
    "leaderboard": path(score("bm25"), BOARD, POOL, PLAN, CHOOSE, SHARDS, LABELS, BOARD),
    "diff": path(score("bm25"), "compare jsonl-agents with jsonl-agents"),
    "repair": path(
        "read repair-jsonl-agents",
        score("bm25"),
        REPAIR,
        OWN_PLAN,
        OWN_PLAN,
        OWN_CHOICE,
        "write the next version of jsonl-agents",
    ),
    "estimate": path(ESTIMATE, "report on the estimates for truth"),
    "study-kape": path("estimate and score minilm on own", "report the study of KAPE"),
    "train": path("train ncs", score("mine", "test"), "compare all methods on test")
    | {("compare all methods on test", "report on mine")},
    "study-training": path(
        "train ncs", score("ncs-own-123456", "test"), "report the study of trainings"
    ),
    "compare-annotators": path("judge truth.jsonl by openai/scripted as single"),
    "challenge": path(
        READ,
        "rank jsonl in python for asked by bm25",
        "write the predictions of bm25 for asked",
        "score the predictions over jsonl",
    )
    | {
        (
            "write the predictions of bm25 for asked",
            "draw the first 1 results for asked into a sample",
        )
    },
    "neural-code-search": path(
        READ, "rank jsonl for questions by bm25", "judge the rankings of jsonl by Aroma"
    ),
}


def arrows_of(server: str, run: str) -> set[tuple[str, str]]:
    """Return the arrows of a flow run's graph as the UI draws it; a first stage follows "".

    All shards count as one.
    """
    graph = ask("GET", f"{server}/flow_runs/{run}/graph-v2")
    labels = {
        node["id"]: re.sub(r"(?<=judge pairs) \d+ to \d+(?= of )", "", node["label"])
        for _, node in graph["nodes"]
    }
    return {
        (labels[parent["id"]] if parent else "", labels[node["id"]])
        for _, node in graph["nodes"]
        for parent in node["parents"] or [None]
    }


def test_the_arrows_in_prefects_database_are_those_of_the_table(
    log: Path, prefect_server: str
) -> None:
    of_this_world = {"tags": {"all_": [str(log)]}}
    runs = ask(
        "POST",
        f"{prefect_server}/flow_runs/filter",
        {"sort": "START_TIME_ASC", "flow_runs": of_this_world},
    )
    arrows = [
        arrows_of(prefect_server, run["id"])
        for run in runs
        if not run["parent_task_run_id"] and "minilm@" not in str(run["parameters"])
    ]
    assert dict(zip(ARROWS, arrows, strict=True)) == ARROWS


def test_every_input_of_a_task_is_a_task_so_that_the_ui_lists_the_tasks_of_each_run(
    log: Path, prefect_server: str
) -> None:
    tasks = ask(
        "POST",
        f"{prefect_server}/task_runs/filter",
        {"flow_runs": {"tags": {"all_": [str(log)]}}, "limit": 200},
    )
    assert {
        each["input_type"]
        for task in tasks
        for inputs in task["task_inputs"].values()
        for each in inputs
    } == {"task_run"}
