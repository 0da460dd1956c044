"""The law of a working folder of others: no module that lies in it runs, in any process of ours.

What `cosqa server` starts is tested in `tests/flows/test_server.py`.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tasks.benchmarks import write_benchmark
from tests.fakes.llm_server import ScriptedServer
from tests.flows.hostile_folder import lay_modules, names_run
from tests.flows.world import COSQA, World, additions, environment
from tests.tasks.reports.cases import benchmark as toy

CASES = additions(4)
PAIR = '{{"query": "add {0} to it", "code": "def plus(v):\\n    return v + {0}", "label": 1}}\n'
TEST = ("--method", "bm25")


def test_python_itself_would_run_them(tmp_path: Path) -> None:
    mark = lay_modules(tmp_path)
    for words in (["-c", "import prefect"], ["-m", "flows.runtime.loopback_server"]):
        subprocess.run([sys.executable, *words], cwd=tmp_path, check=False, capture_output=True)
        assert names_run(mark)
        mark.unlink()


@pytest.mark.slow(60)
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "commands",
    [
        [["leaderboard", "--benchmark", "beir", "--method", "minilm"]],
        pytest.param(
            [["collect"], ["annotate"], ["train", "--data", "pairs.jsonl", "--base", "cnn", *TEST]],
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["that reads", "that judge and train"],
)
def test_no_module_of_the_working_folder_runs(
    folder: Path, agreeing: ScriptedServer, commands: Sequence[Sequence[str]]
) -> None:
    env = environment(
        agreeing.base_url,
        PREFECT_HOME=str(folder.parent / f"{folder.name}-prefect"),
        COSQA_ANNOTATION__CONFIGURATION="single",
    )
    env.pop("PREFECT_API_URL", None)
    world = World(folder, env)
    world.write(CASES)
    (folder / "cosqa.toml").write_text('[source]\nname = "jsonl"\npath = "source"\n')
    write_benchmark(toy(), folder / "beir")
    (folder / "pairs.jsonl").write_text("".join(map(PAIR.format, range(40))))
    mark = lay_modules(folder)
    for command in commands:
        done = world.finish_alone([COSQA, *command])
        assert names_run(mark) == "", done.stdout
        assert done.returncode == 0, done.stdout
    shutil.rmtree(folder)
