"""Laws of parameters and results of flows and tasks: small references, never data.

Covers `tasks.runtime.references`.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.fakes.checkpoints import computable
from tests.fakes.llm_server import ScriptedServer
from tests.flows.recording import described, flows_and_tasks
from tests.flows.world import Case, World, environment, read, rule

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

ROOT = Path(__file__).parents[2]
LIMIT = 16 * 1024
HAS_BFLOAT16 = computable("bfloat16")
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
]


@pytest.fixture
def sizes(folder: Path, prefect_server: str) -> dict[str, tuple[int, int]]:
    """Name of a flow or task → the most bytes of its parameters and of its result in a run."""
    with ScriptedServer(SCRIPT) as model:
        world = World(
            folder,
            environment(
                model.base_url,
                PREFECT_API_URL=prefect_server,
                PYTHONPATH=str(ROOT),
                COSQA_ANNOTATION__CONFIGURATION="single",
                COSQA_ANNOTATION__BATCH_POLL_S="0.5",
                COSQA_GENERATION__CONFIGURATION="single",
            ),
        )
        world.write(CASES)
        rows = [{"query": case.query, "code": case.code, "label": 1} for case in CASES]
        other = [row | {"query": f"how to {row['query']}"} for row in rows]
        files = {"truth": rows, "other": other, "train": rows[:6], "test": rows[6:]}
        for name, some in files.items():
            world._lines(name, some)
        commands = _commands(world)
        log = folder / "sizes.jsonl"
        words = [word for command in commands for word in ("--", *command)][1:]
        done = world.finish_alone([sys.executable, "-m", "tests.flows.recording", str(log), *words])
        assert done.returncode == 0, done.stdout[-5000:]
    sizes: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for row in map(json.loads, log.read_text().splitlines()):
        before = sizes[row["name"]]
        sizes[row["name"]] = (max(before[0], row["parameters"]), max(before[1], row["result"]))
    return dict(sizes)


def _commands(world: World) -> list[list[str]]:
    """Return commands that between them call every flow and every task."""
    exported = str(world.output / "jsonl-agents")
    truth, other = (str(world.source / f"{name}.jsonl") for name in ("truth", "other"))
    store = ["--store", str(world.store)]
    places = [*store, "--output", str(world.output)]
    leaderboard = ["leaderboard", "--benchmark", exported, "--method", "bm25", *places]
    return [
        world.command("benchmark", "--top-k", "3")[1:],
        world.command("annotate", "--top-k", "4", "--batch")[1:],
        *([world.command("collect", "--encoder", "minilm@bfloat16")[1:]] if HAS_BFLOAT16 else []),
        *(
            world.command(name, "--top-k", "3")[1:]
            for name in ("collect", "annotate", "generate", "publish", "evaluate", "study")
        ),
        [*leaderboard, "--annotate-unjudged"],
        world.command("annotate", "--top-k", "3", "--reason", "audit", "--pairs", "3")[1:],
        ["diff", exported, exported, "--method", "bm25", *places],
        ["estimate", "--train", other, "--queries", truth, "--judged", exported, *places],
        ["study", "kape", "--data", f"own={world.source}", *places],
        ["annotators", "compare", "--truth", truth,
         "--configuration", "single", *store],
    ]  # fmt: skip


def test_no_parameter_and_no_result_of_a_flow_or_task_exceeds_16_kb(
    sizes: dict[str, tuple[int, int]],
) -> None:
    names = {described(item) for item in flows_and_tasks()}
    if not HAS_BFLOAT16:
        names.remove("task agreement")
    names -= {"task compare-behaviours", "task label-duplicates"}  # of `spec`; the same references
    assert set(sizes) == names, "each flow and task took part"
    too_large = {name: size for name, size in sizes.items() if max(size) > LIMIT}
    assert too_large == {}
