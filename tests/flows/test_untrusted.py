"""Laws of what strangers wrote: modules of the working folder never run, code in boxes alone.

What `cosqa server` starts is tested in `tests/flows/test_server.py`.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tasks.benchmarks import write_benchmark
from tests.fakes.llm_server import ScriptedServer
from tests.flows.cases import script
from tests.flows.world import (
    COSQA,
    Case,
    World,
    additions,
    environment,
    judged,
    reading_world,
    screened,
    written,
)
from tests.tasks.reports.cases import benchmark as toy

_OURS = ("flows", "tasks", "agents", "sandbox", "infra", "tests")
_AT_START = ("sitecustomize", "usercustomize")


def lay_modules(folder: Path) -> Path:
    """Write modules into a folder which leave their name in a file; return that file.

    They have the names of the standard library, of all that is installed, and of our packages, each
    as a package too.
    """
    mark = folder.parent / f"{folder.name}-has-run"
    text = f"open({str(mark)!r}, 'a').write(__name__ + ' ')\n"
    names = {*sys.stdlib_module_names, *packages_distributions(), *_OURS, *_AT_START}
    for name in names:
        if name.isidentifier() and not (folder / name).exists():
            (folder / f"{name}.py").write_text(text)
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(text)
    return mark


def names_run(mark: Path) -> str:
    """Return the names of the modules that have run."""
    return mark.read_text() if mark.exists() else ""


CASES = additions(4)
PAIR = '{{"query": "add {0} to it", "code": "def plus(v):\\n    return v + {0}", "label": 1}}\n'
TEST = ("--method", "bm25")


def test_python_itself_would_run_them(tmp_path: Path) -> None:
    mark = lay_modules(tmp_path)
    for words in (["-c", "import prefect"], ["-m", "flows.runtime.loopback_server"]):
        subprocess.run([sys.executable, *words], cwd=tmp_path, check=False, capture_output=True)
        assert names_run(mark)
        mark.unlink()


@pytest.mark.slow
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
    home = str(folder.parent / f"{folder.name}-prefect")
    world = reading_world(folder, agreeing.base_url, PREFECT_HOME=home)
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


def marking(folder: Path) -> str:
    """Return an expression that leaves a mark in a folder of the host, and in the box's own."""
    places = [str(folder), "."]
    return f"[__import__('os').system(f'touch {{p}}/ran; [ -e ./ran ]') for p in {places!r}]"


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("engine")
def test_code_of_a_corpus_and_a_model_runs_in_boxes_alone(
    folder: Path, prefect_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = folder / "marks"
    marks.mkdir()
    mark = marking(marks)
    case = Case(
        "sum of the squares of a list of numbers",
        f"@(lambda f: [f, {mark}][0])\ndef sum_of_squares(numbers, made={mark}):\n"
        f'    """Sum the squares of a list of numbers."""\n    {mark}\n'
        f"    return sum(n * n for n in numbers)\n{mark}",
        (
            screened("unclear"),
            written(
                f"import os\n{mark}\nassert os.path.exists('ran')\nos.remove('ran')\n"
                "from target import sum_of_squares\n"
                "assert os.path.exists('ran')\nos.remove('ran')\n"
                "def test_it():\n    assert sum_of_squares([1, 2]) == 5\n"
                "    assert os.path.exists('ran')\n"
            ),
            judged("answers"),
        ),
    )
    with ScriptedServer(script({"hostile": case})) as model:
        world = World(folder, environment(model.base_url, PREFECT_API_URL=prefect_server))
        world.write([case])
        done = world.run("benchmark")
    assert done.returncode == 0, done.stdout
    assert world.rows("SELECT path, label FROM annotations") == [("unclear_passed", 1)]
    assert world.rows("SELECT outcome FROM executions") == [("passed",)]
    assert list(marks.iterdir()) == []
    assert list(folder.rglob("ran")) == []
    assert not Path("ran").exists()
