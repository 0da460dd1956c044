"""The command that compares annotators, run in this process on fakes.

Covers `flows.study`.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from flows.cli.output import print_document
from infra.records import Code, Query
from infra.settings import StoreSettings
from infra.store import open_database
from sandbox.backends import backends
from tasks.inputs.pairs import read_truth
from tasks.stages.compare_annotators import AnnotatorScore, annotators_document
from tasks.statistics.intervals import Interval
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.fakes.sandbox import PASSED, FakeSandbox
from tests.flows.world import read
from tests.tasks.stages.generate.world import also_collected
from tests.tasks.stages.label.world import read as read_sheet
from tests.tasks.stages.label.world import save

ITEMS = [
    {"query": "add", "code": "def f(a, b): return a + b", "label": 1, "labels": {"people": 1}},
    {"query": "subtract", "code": "def f(a, b): return a + b", "label": 0, "labels": {"people": 0}},
]


@pytest.fixture
def truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefect_server: str) -> Iterator[Path]:
    """A file of two pairs, with a scripted model that finds every code fitting."""
    file = tmp_path / "truth.jsonl"
    file.write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS))
    backends.register("nowhere")(lambda settings: FakeSandbox(lambda program, installed: PASSED))
    script = [read("answers")]
    with ScriptedServer(script) as server:
        monkeypatch.setenv("COSQA_LLM__BASE_URL", server.base_url)
        monkeypatch.setenv("COSQA_LLM__API_KEY", KEY)
        monkeypatch.setenv("COSQA_SANDBOX__BACKEND", "nowhere")
        yield file
    del backends._entries["nowhere"]


def test_the_figures_of_people_and_models_are_printed_and_written(
    truth: Path, tmp_path: Path
) -> None:
    figures = tmp_path / "figures.json"
    options = ["--model", "openai/scripted", "--configuration", "single"]
    places = ["--store", str(tmp_path / "store"), "--output", str(figures)]
    command = ["compare-annotators", "--truth", str(truth)]
    outcome = CliRunner().invoke(app, [*command, *options, *places])
    assert outcome.exit_code == 0, outcome.output
    people, single = json.loads(figures.read_text())
    assert (people["name"], people["accuracy"]) == ("people", 1.0)
    assert (single["name"], single["model"]) == ("single", "openai/scripted")
    assert (single["usd"], single["accuracy"]) == (None, 0.5)
    shown = [" ".join(line.split()) for line in outcome.output.splitlines()]
    assert "openai/scripted against the known labels" in shown
    assert "people 2 of 2 1.000 0.342 to 1.000 - - - -" in shown
    assert any(line.startswith("single 2 of 2 0.500 0.095 to 0.905 0.000 - unk") for line in shown)


@pytest.mark.exhaustive
def test_sixty_pairs_of_two_annotators_become_a_truth_in_the_codes_languages(
    truth: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From sheets to the figures by one line each, in a store of Python, JavaScript and Go."""
    monkeypatch.chdir(tmp_path)
    place = ["--store", str(tmp_path / "store")]
    texts = {
        "": "def f(x):\n    return x + {n}",
        "javascript": "function f(x) {{\n  return x + {n};\n}}",
        "go": "func f(x int) int {{\n\treturn x + {n}\n}}",
    }
    codes = [
        Code.of(text.format(n=n), language=name) for name, text in texts.items() for n in range(4)
    ]
    queries = [Query.of(f"add {n} to a number") for n in range(5)]
    also_collected(open_database(StoreSettings(folder=tmp_path / "store")), "c", queries, codes)

    def cosqa(*words: str) -> str:
        outcome = CliRunner().invoke(app, [*words, *place])
        assert outcome.exit_code == 0, outcome.output
        return outcome.stdout

    printed = cosqa("label", "sample", "--pairs", "60", "--annotator", "ann", "--annotator", "bob")
    files = [Path(line) for line in printed.splitlines() if line.endswith(".csv")]
    for file in files:
        save(file, [row | {"grade": str(int(row["item"]) % 2)} for row in read_sheet(file)])
    printed = cosqa("label", "read", *map(str, files))
    assert "60 items labelled blind by two or more" in printed
    sample = printed.split()[1].rstrip(":")
    cosqa("label", "results", sample, "--truth", "people.jsonl")
    lines = [json.loads(line) for line in Path("people.jsonl").read_text().splitlines()]
    assert Counter(line["language"] for line in lines) == {"": 20, "javascript": 20, "go": 20}
    assert {pair.pair.code for pair in read_truth(Path("people.jsonl"))} == set(codes)
    options = ["--model", "openai/scripted", "--configuration", "single"]
    printed = cosqa(
        "compare-annotators", "--truth", "people.jsonl", *options, "--output", "figures.json"
    )
    ann, bob, average, single = json.loads(Path("figures.json").read_text())
    assert (average["name"], average["alpha_with_people"]) == ("average human", 1.0)
    assert [(each["name"], each["accuracy"]) for each in (ann, bob)] == [("ann", 1.0), ("bob", 1.0)]
    assert (single["pairs"], single["accuracy"]) == (60, 0.5)
    judged = open_database(StoreSettings(folder=tmp_path / "store")).rows(
        "SELECT roles_asked, count(*) FROM annotations GROUP BY roles_asked ORDER BY roles_asked"
    )
    assert judged == [
        ("exact_judge", 20), ("exact_judge,go", 20), ("exact_judge,javascript", 20)
    ]  # fmt: skip


def score(name: str, model: str = "") -> AnnotatorScore:
    return AnnotatorScore(
        name=name, model=model, pairs=5, decided=4, accuracy=0.6,
        interval=Interval(0.6, 0.2, 0.9), seconds=12.25,
    )  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_tables_fit_the_terminal_and_cut_no_figure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    people = "the median of four annotators who were asked by mail in autumn"
    scores = [score("ann"), score(people), score("spec", "openai/m")]
    print_document(annotators_document(scores), rest="figures.json")
    tables = capsys.readouterr().out.split("\ndecided:")[0].splitlines()
    assert max(map(len, tables)) <= width
    assert all("0.600" in line for line in tables if " of 5" in line), tables
    assert sum("4 of 5" in line for line in tables) == 3
    if width < 100:
        assert any("figures.json" in line for line in tables)
