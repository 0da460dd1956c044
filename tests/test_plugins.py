"""Plug-ins are one new file each: one of each kind, written into a temporary folder.

The folder is added to the packages' paths in processes of their own, which run the conformance
tests and the command line with it; no file of the project is edited.
"""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLUGINS = {
    "tasks.encoders": '''
"""Counts letters."""

import numpy as np

from tasks.encoders import EncoderSpec, encoders


@encoders.register("new-comer")
class NewComer:
    spec = EncoderSpec(
        name="new-comer", model="none", revision="1", licence="MIT", source="here", dimension=26
    )

    def encode(self, texts, kind, batch_size):
        counts = np.array([[1 + text.count(chr(97 + n)) for n in range(26)] for text in texts])
        counts = counts.reshape(-1, 26).astype(np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)
''',
    "tasks.estimators": '''
"""Labels the first queries."""

import numpy as np

from tasks.estimators import Estimate, estimators


@estimators.register("new-comer")
class NewComer:
    uses_labels = True
    is_stable = True

    def estimate(self, data, *, budget, seed):
        rows = np.arange(min(budget, len(data.queries)))
        return Estimate.of(data.label(rows))
''',
    "tasks.filters": '''
"""Drops long functions."""

from tasks.filters import filters


@filters.register("new-comer")
class NewComer:
    def reason_to_drop(self, function):
        return "too long" if len(function.code.text) > 1_000 else None
''',
    "tasks.metrics": '''
"""Whether the first result is relevant."""

import numpy as np

from tasks.metrics import metrics


@metrics.register("NewComer")
class NewComer:
    needs_depth = False

    def __init__(self, depth):
        self.depth = depth

    def score(self, lists):
        return (lists.relevance[:, :1] > 0).any(axis=1).astype(np.float64)
''',
    "tasks.retrievers": '''
"""Counts shared words."""

import numpy as np

from tasks.benchmarks.runs import NOTHING
from tests.fakes.benchmarks import rank_scores
from tasks.retrievers import retrievers
from infra.text import words


@retrievers.register("new-comer")
class NewComer:
    def rank(self, queries, codes, depth):
        codes = sorted(codes, key=lambda code: code.code_id)
        scores = [
            [float(len(set(words(query.text)) & set(words(code.text)))) for code in codes]
            for query in queries
        ]
        names = [query.query_id for query in queries], [code.code_id for code in codes]
        rankings = rank_scores(*names, np.array(scores), depth)
        rankings.codes[rankings.scores == 0] = NOTHING
        return rankings
''',
    "tasks.sources": '''
"""Two lines of a text file."""

from pathlib import Path

from pydantic import Field

from infra.records import Query, SourceInfo
from tasks.corpus.functions import parse_function
from tasks.inputs.text import read_text
from tasks.sources import FolderOptions, FolderSource, sources


class NewComerOptions(FolderOptions):
    path: Path = Field(description="Folder with both.txt.")
    greeting: str = Field("hello", description="The query.")


@sources.register("new-comer")
class NewComer(FolderSource):
    Options = NewComerOptions
    version = "1"
    info = SourceInfo(name="new-comer", licence="MIT", revision="1", location="here")

    @classmethod
    def write_example(cls, folder):
        (folder / "both.txt").write_text("def double(x):\\n    return x + x\\n")
        return {"path": folder}

    def inputs(self):
        return [self._folder / "both.txt"]

    def items(self, merged):
        yield from merged.queries([Query.of(self._options.greeting)])
        yield from merged.codes([parse_function(read_text(*self.inputs()), "both.txt:1")])
''',
    "tasks.studies": '''
"""How many queries and codes there are together."""

from infra.errors import StudyError
from tasks.studies import Figure, have, studies


@studies.register("new-comer")
def queries_and_codes(evidence):
    """Queries and codes together.

    Their sum.
    """
    facts = have(evidence.collection)
    if not facts.queries:
        raise StudyError("no query is there")
    return [Figure(row="both", column="items", value=facts.queries + facts.codes)]
''',
    "tasks.suites": '''
"""Counts the lines of a file."""

from pathlib import Path

from pydantic import Field

from tasks.inputs.text import read_text
from tasks.suites import Figures, SuiteOptions, suites


class NewComerOptions(SuiteOptions):
    answers: Path = Field(description="A file of answers.")


@suites.register("new-comer")
class NewComer:
    """Count the answers of a newcomer's file."""

    Options = NewComerOptions

    @classmethod
    def write_example(cls, folder):
        (folder / "answers.txt").write_text("a\\nb\\n")
        return {"answers": folder / "answers.txt"}

    def figures(self, options):
        lines = read_text(options.answers).splitlines()
        return Figures(columns=("file", "answers"), rows=(("answers.txt", str(len(lines))),))
''',
    "infra.languages": '''
"""A language whose files have no functions."""

from infra.languages import Language, languages


@languages.register("new-comer")
class NewComer(Language):
    name = "new-comer"

    def functions_of(self, text):
        return []

    def signature_of(self, code):
        return ""
''',
}
EXTEND = """
import importlib, pathlib
for package in {packages!r}:
    importlib.import_module(package).__path__.append(str(pathlib.Path({folder!r}) / package))
"""
HAS_LANGUAGES = hasattr(import_module("infra.languages"), "languages")
CONFORMANCE = {
    package: f"tests/tasks/{package.partition('.')[2]}/test_conformance.py"
    for package in PLUGINS
    if package.startswith("tasks.")
} | ({"infra.languages": "tests/infra/languages"} if HAS_LANGUAGES else {})


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the plug-ins, and a module that adds them to the packages' paths."""
    folder = tmp_path_factory.mktemp("plugins")
    for package, text in PLUGINS.items():
        (folder / package).mkdir()
        (folder / package / "new_comer.py").write_text(text, encoding="utf-8")
    extend = EXTEND.format(packages=list(CONFORMANCE), folder=str(folder))
    (folder / "extend_packages.py").write_text(extend, encoding="utf-8")
    return folder


def run(plugins: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the plug-ins at hand."""
    path = os.pathsep.join([str(plugins), str(ROOT)])
    settings = {key: value for key, value in os.environ.items() if not key.startswith("COSQA_")}
    return subprocess.run(
        [sys.executable, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=settings | {"PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "200"}, cwd=ROOT,
        timeout=600, check=False,
    )  # fmt: skip


def cosqa(plugins: Path, *arguments: str) -> str:
    """Return what the command line prints, white space folded."""
    program = "import extend_packages; from flows.cli.main import main; main()"
    return " ".join(run(plugins, "-c", program, *arguments).stdout.split())


def test_every_kind_passes_its_conformance_test(plugins: Path) -> None:
    tests = [
        "-m", "pytest", "-p", "extend_packages", "-p", "no:randomly", "-p", "no:cacheprovider",
        "-v", "-k", "new-comer or NewComer or metric", *CONFORMANCE.values(),
    ]  # fmt: skip
    finished = run(plugins, *tests)
    assert finished.returncode == 0, finished.stdout
    passed = [line for line in finished.stdout.splitlines() if " PASSED " in line]
    for package, file in CONFORMANCE.items():
        own = [line for line in passed if line.startswith(file)]
        assert own, package
        assert package == "tasks.metrics" or all("new-comer" in line for line in own), own


def test_lists_and_help_texts_name_the_new_ones(plugins: Path) -> None:
    for names in ("sources", "encoders"):
        assert "new-comer" in cosqa(plugins, "list", names)
    suites = cosqa(plugins, "suite", "--help")
    assert "new-comer Count the answers of a newcomer's file." in suites


def test_a_new_suite_is_a_command_with_its_options(plugins: Path, tmp_path: Path) -> None:
    assert "A file of answers." in cosqa(plugins, "suite", "new-comer", "--help")
    (tmp_path / "answers.txt").write_text("a\nb\nc\n")
    printed = cosqa(plugins, "suite", "new-comer", "--answers", str(tmp_path / "answers.txt"))
    assert "answers.txt 3" in printed


def test_a_new_source_is_opened_with_its_own_options(plugins: Path, tmp_path: Path) -> None:
    (tmp_path / "both.txt").write_text("def double(x): return x + x\n")
    reads = (
        "import extend_packages, sys\n"
        "from infra.settings import SourceSettings\n"
        "from tasks.sources import open_source\n"
        "settings = SourceSettings(name='new-comer', path=sys.argv[1], greeting='goodbye')\n"
        "(collected,) = open_source(settings).read().values()\n"
        "print(*(item.text.split('(')[0] for item in collected.items()))\n"
    )
    assert run(plugins, "-c", reads, str(tmp_path)).stdout == "goodbye def double\n"
    options = ["--source", "new-comer", "--path", str(tmp_path), "--store", str(tmp_path / "store")]
    refused = cosqa(plugins, "collect", *options, "--set", "source.farewell=goodbye")
    assert "no option 'farewell' (given: farewell=goodbye)" in refused
    assert "greeting" in refused


def test_errors_name_the_new_ones(plugins: Path) -> None:
    program = (
        "import extend_packages, importlib, sys\n"
        "for package in sys.argv[1:]:\n"
        "    module = importlib.import_module(package)\n"
        "    registry = getattr(module, package.rpartition('.')[2])\n"
        "    try:\n"
        "        registry.get('nobody')\n"
        "    except Exception as error:\n"
        "        print(error)\n"
    )
    lines = run(plugins, "-c", program, *CONFORMANCE).stdout.splitlines()
    assert len(lines) == len(CONFORMANCE)
    for line in lines:
        assert "'nobody'" in line
        assert "new-comer" in line or "NewComer" in line
