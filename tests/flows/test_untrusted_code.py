"""A whole run over code that would leave a mark wherever it ran leaves none on the host.

It leaves it on definition, on import and when it is called, in any folder that it can write to;
and the program of a model does the same. Both pass in their box, so both have run there.
"""

from pathlib import Path

import pytest

from tests.fakes.llm_server import ScriptedServer
from tests.flows.cases import script
from tests.flows.world import Case, World, environment, judged, screened, written

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.usefixtures("engine")]


def marking(folder: Path) -> str:
    """Return an expression that leaves a mark in a folder of the host, and in the box's own."""
    places = [str(folder), "."]
    return f"[__import__('os').system(f'touch {{p}}/ran; [ -e ./ran ]') for p in {places!r}]"


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
