"""Mutants as distractors: codes with one mistake, each proved wrong by a program of the evidence.

Beside a right code whose label rests on a valid program stand mutants that this program fails, as
codes of the benchmark with the grade 0. Nothing runs here: the gates ran the program on mutants
when they validated it, and the evidence has how each run ended. Mutants follow from the code alone,
so that they are made again by their line and mistake. Anchor: ExecRetrieval's distractors, which a
model wrote, and nobody ran.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from infra.identity import CodeId, PairKey
from infra.languages import Language, Mutant, language_named
from infra.records import Code, Label
from tasks.benchmarks.benchmark import MUTANT, Benchmark, columns_of

_FAILED = "assertion_failed"
_MOST = 200  # mutants of a code that are made again: as many as settings let gates run, twice


def with_mutants(benchmark: Benchmark, number: int) -> Benchmark:
    """Return a benchmark with at most ``number`` proved mutants of each right code.

    A mutant is left out that any valid program of the pair passes, whose run cannot be told from
    that of another, or that is equal to a code of the corpus, layout and comments aside.
    """
    columns = columns_of(benchmark)
    right = {label.key: label for label in columns.labels if label.relevance > 0}
    failed = _failed_by_programs(benchmark, right)
    wanted = pa.array(sorted({key.code_id for key in failed}), pa.string())
    codes = {code.code_id: code for code in columns.codes.among("code_id", wanted)}
    names = pa.array(sorted({code.name for code in codes.values()}), pa.string())
    known = {_bare(code) for code in columns.codes.among("name", names)}
    made: dict[str, Code] = {}
    labels: dict[PairKey, Label] = {}
    for key, changes in sorted(failed.items()):
        code, found = codes[key.code_id], 0
        for mutant in _mutants(code, changes):
            pair = PairKey(key.query_id, mutant.code_id)
            text = _bare(mutant)
            if found == number or pair in labels or (text in known and mutant.code_id not in made):
                continue
            made.setdefault(mutant.code_id, mutant)
            known.add(text)
            origin = f"{MUTANT}{right[key].origin}"
            labels[pair] = Label(**pair._asdict(), origin=origin, relevance=0.0)
            found += 1
    return benchmark.model_copy(
        update={
            "codes": columns.codes.joined(made.values()),
            "labels": columns.labels.joined(labels.values()),
        }
    )


def parents_of_mutants(benchmark: Benchmark) -> dict[PairKey, list[str]]:
    """Return pair of a right code → its mutants that are labelled for the query."""
    labels = columns_of(benchmark).labels
    mutants = labels.where(pc.starts_with(labels.column("origin"), MUTANT))
    chosen = columns_of(benchmark).codes.among("code_id", mutants.column("code_id"))
    named = {each.code_id: each.origin.removeprefix(MUTANT).partition(" ")[0] for each in chosen}
    found: dict[PairKey, list[str]] = {}
    for label in mutants:
        key = PairKey(label.query_id, CodeId(named[label.code_id]))
        found.setdefault(key, []).append(label.code_id)
    return found


def _failed_by_programs(
    benchmark: Benchmark, right: Mapping[PairKey, Label]
) -> dict[PairKey, Counter[str]]:
    """Return pair → mistake → its runs, of those that valid programs failed without exception."""
    found: dict[PairKey, tuple[Counter[str], set[str]]] = {}
    for annotation in benchmark.evidence.with_support("valid_oracle"):
        if annotation.label == 1 and annotation.key in right:
            failed, others = found.setdefault(annotation.key, (Counter(), set()))
            for run in annotation.executions:
                if run.oracle and not run.oracle.faults and run.result.outcome == "passed":
                    trials = [(each.change, each.outcome) for each in run.oracle.trials]
                    failed |= Counter(change for change, end in trials if end == _FAILED)
                    others.update(change for change, end in trials if end != _FAILED)
    return {
        key: Counter({change: runs for change, runs in failed.items() if change not in others})
        for key, (failed, others) in found.items()
    }


def _mutants(code: Code, failed: Mapping[str, int]) -> Iterable[Code]:
    """Yield the mutants of a code whose mistakes a program failed, as codes."""
    language = language_named(code.language or "python")
    if language is None or not failed:
        return
    made = [*language.mutants_of(code.text, _MOST), *language.strong_mutants_of(code.text, _MOST)]
    same = Counter(map(_change, made))
    for mutant in made:
        if same[_change(mutant)] == failed.get(_change(mutant)):
            origin = f"{MUTANT}{code.code_id} {_change(mutant)}"
            fields = code.model_dump(exclude={"code_id", "text", "origin"})
            yield Code.of(language.in_layout(code.text, mutant), **fields, origin=origin)


def _change(mutant: Mutant) -> str:
    return f"line {mutant.line}: {mutant.change}"


def _bare(code: Code) -> str:
    """Return a normal form of code, without layout, kinds of quotes and comments."""
    language: Language | None = language_named(code.language or "python")
    tokens = language.tokens(code.text) if language else code.text.split()
    return " ".join(chain([code.language or "python"], tokens)).replace("'", '"')
