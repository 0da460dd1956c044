"""A preset from end to end at small size: the papers' formats, three encoders, agents, tables.

300 functions in CodeSearchNet's format, 50 queries in CoSQA's, MiniLM and two encoders with random
weights in the places of MPNet and CodeBERT, the top 20, a scripted model, boxes; killed while the
agents judge, and gone on with.
"""

import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tasks.reports.study import StudyReport
from tests.fakes.checkpoints import make_checkpoint
from tests.fakes.llm_server import ScriptedServer
from tests.flows.published_files import (
    cosqa_queries,
    standard_library,
    write_codesearchnet,
    write_cosqa,
)
from tests.flows.world import COSQA, World, environment, judged, rule, screened, written

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow(300),
    pytest.mark.nightly,
    pytest.mark.usefixtures("engine"),
]

FUNCTIONS, QUERIES, TOP_K = 300, 50, 20
UNLICENSED = "calendar"
PROGRAM = "import target\n\ndef test_it_is_there():\n    assert target is not None\n"
IRREPARABLE = rule(
    "command_fixer", {"reply": {"diagnosis": "d", "verdict": "irreparable", "commands": ""}}
)


class PresetWorld(World):
    """A world whose commands run a preset."""

    def command(self, name: str, *options: str) -> list[str]:
        """Return a command over the preset's sources, with a checkpoint for its CodeBERT."""
        methods = ("bow-sklearn", "minilm", "all-mpnet-base-v2", "codebert-search")
        scored = [word for method in methods for word in ("--method", method)]
        scored += ["--output", str(self.output)]
        return [
            COSQA, name, "--preset", "cosqa-plus-v2",
            "--queries", f"cosqa={self.folder / 'cosqa'}",
            "--codes", f"codesearchnet={self.folder / 'csn'}",
            "--encoder", "minilm", "--encoder", "all-mpnet-base-v2",
            "--encoder", "codebert-search",
            "--checkpoint", f"all-mpnet-base-v2={self.folder / 'mpnet'}",
            "--checkpoint", f"codebert-search={self.folder / 'codebert'}",
            "--store", str(self.store), *([] if name == "collect" else scored), *options,
        ]  # fmt: skip


def script(queries: list[str]) -> list[dict[str, object]]:
    """Return rules: of three queries one is unclear, of the others code that raises is a match."""
    rules = [judged("answers"), written(PROGRAM), IRREPARABLE]
    for number, query in enumerate(queries):
        if number % 3 == 0:
            rules.append(screened("unclear") | {"query": query})
        else:
            rules.append(screened("clear_match") | {"query": query, "code": "raise "})
            rules.append(screened("clear_non_match") | {"query": query})
    return rules


def test_the_preset_of_version_2_gives_benchmark_tables_and_figures(
    folder: Path, prefect_server: str
) -> None:
    queries = cosqa_queries(QUERIES)
    functions = standard_library(FUNCTIONS)
    write_cosqa(folder / "cosqa", queries)
    write_codesearchnet(folder / "csn", functions, [UNLICENSED])
    make_checkpoint("all-mpnet-base-v2", folder / "mpnet", 768)
    make_checkpoint("codebert-base", folder / "codebert", 768)
    with ScriptedServer(script(queries)) as model:
        env = environment(
            model.base_url,
            PREFECT_API_URL=prefect_server,
            PYTHONPATH=str(Path(__file__).parents[2]),
            COSQA_ANNOTATION__IN_FLIGHT="8",
            COSQA_EVALUATION__DEPTH="1000",
        )
        world = PresetWorld(folder, env)
        collected = world.run("collect")  # embedding takes longer than a test waits for a kill
        assert collected.returncode == 0, collected.stdout[-5000:]
        world.kill_when(
            "benchmark", lambda: world.rows("SELECT count(*) >= 100 FROM annotations")[0][0] is True
        )
        done = world.run("benchmark")
        assert done.returncode == 0, done.stdout[-5000:]
        asked = Counter((call["role"], call["query"], call["code"]) for call in model.calls)
        studied = world.run("study")
        assert studied.returncode == 0, studied.stdout[-5000:]

    ((pairs, distinct),) = world.rows(
        "SELECT count(*), count(DISTINCT (query_id, code_id)) FROM annotations "
        "WHERE status = 'labelled'"
    )
    assert (pairs, distinct) == (QUERIES * TOP_K, QUERIES * TOP_K)
    screenings = [times for (role, *_), times in asked.items() if role == "screener"]
    assert sum(screenings) <= QUERIES * TOP_K + 16, "only requests in flight are sent twice"
    check_benchmark(world.output / "cosqa-plus-v2-agents", len(functions))
    check_study(world.output / "studies" / "cosqa-plus-v2")


def check_benchmark(exported: Path, functions: int) -> None:
    manifest = json.loads((exported / "manifest.json").read_text())
    assert manifest["code_base"] == "candidates"
    assert manifest["recipe"]["configuration"] == "paper"
    codes = pq.read_table(exported / "codes.parquet").to_pylist()
    assert 0 < len(codes) < functions
    assert {code["licence"] for code in codes} <= {"MIT", "unknown"}
    labels = pq.read_table(exported / "labels.parquet").to_pylist()
    assert {label["code_id"] for label in labels} <= {code["code_id"] for code in codes}
    splits = Counter(row["split"] for row in pq.read_table(exported / "splits.parquet").to_pylist())
    assert splits.keys() == {"train", "dev", "test"}
    assert splits["train"] > splits["dev"] + splits["test"]


def check_study(folder: Path) -> None:
    """Check that each table of the second version has figures of ours beside the published ones."""
    report = StudyReport.model_validate_json((folder / "study.json").read_text("utf-8"))
    lines = [(section.study, line) for section in report.sections for line in section.lines]
    ours = {study for study, line in lines if line.ours is not None}
    assert {
        "overlap", "matches-by-rank", "matches-of-queries", "queries-of-codes", "size", "cost",
        "retrieval",
    } <= ours  # fmt: skip
    assert [line for _, line in lines if line.difference is not None]
    assert (folder / "study.html").is_file()
