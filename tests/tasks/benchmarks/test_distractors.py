"""Laws of mutants as distractors: each is proved wrong by a stored run, none is in the corpus."""

import ast
from pathlib import Path

import pytest

from infra.languages import Mutant, language_named
from infra.languages.python.mutation import in_layout, mutants_of
from infra.records import Annotation, Code, Execution, ExecutionResult, MutantRun, OracleReport
from tasks.benchmarks import read_manifest, write_benchmark
from tasks.benchmarks.benchmark import Benchmark
from tasks.benchmarks.distractors import parents_of_mutants, with_mutants
from tasks.benchmarks.evidence import RecordedAnnotations
from tasks.inputs.formats.export import read_benchmark
from tests.fakes.benchmarks import CODES, QUERIES, agents_benchmark

CLAMP = Code.of(
    "def clamp(x, low, high):\n    # keep the layout\n"
    "    if x  <  low:\n        return low\n    if x > high:\n        return high\n    return x",
    name="clamp",
)
MUTANTS = mutants_of(CLAMP.text, 50)


def trial(mutant: Mutant, outcome: str) -> MutantRun:
    told = f"line {mutant.line}: {mutant.change}"
    return MutantRun.model_validate({"change": told, "outcome": outcome, "line": mutant.line})


def judged(
    *outcomes: str, label: int = 1, support: str = "valid_oracle", **report: object
) -> Benchmark:
    """Return a benchmark whose first query has one right code, run on its first mutants."""
    base = agents_benchmark()
    trials = [trial(*each) for each in zip(MUTANTS, outcomes, strict=False)]
    oracle = OracleReport.model_validate({"trials": trials, **report})
    run = Execution(round=0, program="p", result=ExecutionResult(outcome="passed"), oracle=oracle)
    annotation = Annotation.model_validate(
        {
            "query_id": QUERIES[0].query_id,
            "code_id": CLAMP.code_id,
            "recipe_id": "r1",
            "status": "labelled",
            "label": label,
            "path": "p",
            "support": support,
            "executions": (run,),
        }
    )
    told = base.labels[0].model_copy(update={"code_id": CLAMP.code_id, "relevance": float(label)})
    update = {
        "codes": (*CODES, CLAMP),
        "labels": (told,),
        "evidence": RecordedAnnotations((annotation,)),
    }
    return base.model_copy(update=update)


def mistakes(benchmark: Benchmark) -> list[str]:
    found = [code.origin for code in benchmark.codes if code.origin.startswith("mutant:")]
    return [origin.partition(" ")[2] for origin in found]


def told(*positions: int) -> list[str]:
    return [f"line {MUTANTS[at].line}: {MUTANTS[at].change}" for at in positions]


def test_only_mutants_that_the_valid_program_failed_are_distractors() -> None:
    failed = "assertion_failed"
    of = judged(failed, "passed", failed, "timeout", "raised", failed)
    assert mistakes(with_mutants(of, 9)) == told(0, 2, 5)
    assert mistakes(with_mutants(of, 2)) == told(0, 2)
    assert mistakes(with_mutants(judged("passed"), 9)) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"label": 0},
        {"support": "overruled"},
        {"support": "screened"},
        {"faults": {"kills_mutants": "too few"}},
    ],
)
def test_without_a_right_label_by_a_valid_program_there_are_none(fields: dict[str, object]) -> None:
    of = judged("assertion_failed", "assertion_failed", **fields)  # type: ignore[arg-type]
    assert with_mutants(of, 9).codes.__len__() == len(of.codes)


def with_runs(of: Benchmark, *runs: Execution) -> Benchmark:
    """Return a benchmark of one judged pair that rests on other runs."""
    [annotation] = of.evidence
    changed = annotation.model_copy(update={"executions": runs})
    return of.model_copy(update={"evidence": RecordedAnnotations((changed,))})


def test_what_another_valid_program_of_the_pair_passes_is_none() -> None:
    of = judged("assertion_failed", "assertion_failed")
    runs = [
        run for each in (of, judged("passed")) for one in each.evidence for run in one.executions
    ]
    assert mistakes(with_mutants(with_runs(of, *runs), 9)) == told(1)


def test_runs_that_cannot_be_told_apart_prove_nothing() -> None:
    of = judged("assertion_failed")
    [[run]] = [annotation.executions for annotation in of.evidence]
    twice = OracleReport(trials=run.oracle.trials * 2) if run.oracle else None
    doubled = with_runs(of, run.model_copy(update={"oracle": twice}))
    assert mistakes(with_mutants(doubled, 9)) == []


@pytest.mark.parametrize("comment", ["", "  # of somebody else"])
def test_a_mutant_equal_to_a_code_of_the_corpus_is_left_out(comment: str) -> None:
    python = language_named("python")
    assert python is not None
    twin = Code.of(python.in_layout(CLAMP.text, MUTANTS[0]) + comment, name="clamp")
    of = judged("assertion_failed", "assertion_failed")
    of = of.model_copy(update={"codes": (*of.codes, twin)})
    assert mistakes(with_mutants(of, 9)) == told(1)


def test_mutants_are_exported_with_their_grade_and_found_again(tmp_path: Path) -> None:
    of = with_mutants(judged("assertion_failed", "assertion_failed"), 2)
    write_benchmark(of, tmp_path / "b")
    read = read_benchmark(tmp_path / "b")
    assert read_manifest(tmp_path / "b").counts["mutants"] == 2
    grades = {label.relevance for label in read.labels if label.origin == "mutant:agents:r1"}
    assert grades == {0.0}
    [(right, mutants)] = parents_of_mutants(read).items()
    assert right == (QUERIES[0].query_id, CLAMP.code_id)
    assert len(mutants) == 2
    texts = {str(code.code_id): code.text for code in read.codes}
    assert all("# keep the layout" in texts[mutant] for mutant in mutants)


def test_a_mutant_keeps_the_layout_and_is_the_same_program() -> None:
    for mutant in MUTANTS:
        made = in_layout(CLAMP.text, mutant)
        assert "# keep the layout" in made
        assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(mutant.code))
    changed = Mutant(kind="x", line=99, change="a → b", code="pass")
    assert in_layout(CLAMP.text, changed) == "pass"
