"""Two recipes judge the same pairs by the same model: what turns has both ways behind it."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from infra.records import Annotation, Code, ExecutionResult, Label, Pair, Query
from infra.settings import (
    AnnotationSettings,
    Configuration,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from sandbox.backends import backends
from tasks.benchmarks import Benchmark, write_benchmark
from tasks.inputs.formats.export import read_benchmark
from tasks.inputs.truth import TruePair
from tasks.reports.diff import difference
from tests.fakes.benchmarks import SOURCE
from tests.fakes.llm_server import KEY
from tests.fakes.sandbox import FAILED, PASSED, FakeSandbox
from tests.fakes.word_counter import WordCounter, judged
from tests.flows.cases import CASES

HALF_FOUND = ("sum numbers fast today", "count the vowels in a sentence")
QUERIES = tuple(Query.of(text) for text in (*HALF_FOUND, *(case.query for case in CASES.values())))
CODES = tuple(Code.of(case.code) for case in CASES.values())
TRUTH = [
    TruePair(pair=Pair(query=query, code=code), label=0, by_people={})
    for query in QUERIES
    for code in CODES
]


def ends(program: str, installed: frozenset[str]) -> ExecutionResult:
    return PASSED if "sum_of" in program else FAILED


def version(configuration: Configuration, server: WordCounter, folder: Path) -> Benchmark:
    """Return the pairs as a configuration labels them, written and read back."""
    settings = Settings(
        store=StoreSettings(folder=folder / "store"),
        llm=LanguageModelSettings(
            model="openai/word-counter", base_url=server.base_url, api_key=SecretStr(KEY)
        ),
        annotation=AnnotationSettings(configuration=configuration),
        sandbox=SandboxSettings(backend="made-up"),
    )
    made = judged(TRUTH, settings)
    origin = f"agents:{made[0].recipe_id}"
    benchmark = Benchmark(
        name=configuration,
        label_origin=origin,
        queries=QUERIES,
        codes=CODES,
        labels=tuple(_label(item, origin) for item in made),
        sources=(SOURCE,),
        recipe={"configuration": configuration},
        evidence=tuple(made),
    )
    write_benchmark(benchmark, folder / configuration)
    return read_benchmark(folder / configuration)


def _label(item: Annotation, origin: str) -> Label:
    assert item.label is not None
    return Label(query_id=item.query_id, code_id=item.code_id, origin=origin, relevance=item.label)


@pytest.fixture
def versions(tmp_path: Path) -> tuple[Benchmark, Benchmark]:
    backends.register("made-up")(lambda settings: FakeSandbox(ends))
    try:
        with WordCounter() as server:
            return version("single", server, tmp_path), version("paper", server, tmp_path)
    finally:
        del backends._entries["made-up"]


def test_a_label_turns_by_a_program_and_only_where_one_ran(
    versions: tuple[Benchmark, Benchmark],
) -> None:
    change = difference(*versions)
    assert change.recipe == {"configuration": ("single", "paper")}
    assert change.kept + len(change.flips) == len(TRUTH) == 80
    turned = {(flip.query, flip.before, flip.after) for flip in change.flips}
    assert turned == {(HALF_FOUND[0], 0, 1), (HALF_FOUND[1], 1, 0)}
    for flip in change.flips:
        assert flip.evidence_before
        assert flip.evidence_after
        assert flip.evidence_before.path == "read_alone"
        assert not flip.evidence_before.executions
        (run,) = flip.evidence_after.executions
        assert run.result.outcome == ("passed" if flip.after else "assertion_failed")
        assert "from target import" in run.program
