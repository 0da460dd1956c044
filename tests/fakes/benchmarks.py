"""Small benchmarks: what two origins say about three queries, one with planted faults, rankings."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from infra.records import (
    Annotation,
    Code,
    Execution,
    ExecutionResult,
    Label,
    LanguageModelCall,
    MutantRun,
    OracleReport,
    Query,
    SourceInfo,
)
from tasks.benchmarks import Benchmark, Undecided
from tasks.benchmarks.runs import Rankings, best

QUERIES = (
    Query.of("python check if string is valid ip address", "queries.jsonl:1"),
    Query.of("reverse a list <b>in place</b> | `now`", "queries.jsonl:2"),
    Query.of("größte Zahl finden", "queries.jsonl:3"),
)
CODES = (
    Code.of("def reverse(items):\n    items.reverse()\n    return items", name="reverse"),
    Code.of(
        "def largest(numbers):\n    return max(numbers)",
        name="largest",
        module="maths",
        parameters=("numbers",),
        documentation="Größte Zahl.",
        first_line=3,
        last_line=4,
    ),
    Code.of("def is_ip(text):\n    return text.count('.') == 3", name="is_ip"),
    Code.of("def nothing(x):\n    return x\u2028", name="nothing"),
)
SOURCE = SourceInfo(name="toy", licence="MIT", revision="1", location="toy | corpus")


def people_benchmark() -> Benchmark:
    """Return a benchmark labelled by people."""
    return Benchmark(
        name="toy-people",
        label_origin="people",
        queries=QUERIES,
        codes=CODES,
        labels=(_label(0, 2, 1, "people"), _label(1, 0, 1, "people"), _label(1, 1, 0, "people")),
        sources=(SOURCE,),
        dropped={"short": 3},
    )


def agents_benchmark() -> Benchmark:
    """Return a benchmark labelled by agents, with an undecided pair and evidence."""
    origin = "agents:r1"
    undecided = Undecided(
        query_id=QUERIES[2].query_id, code_id=CODES[1].code_id, reason="unreadable"
    )
    return Benchmark(
        name="toy-agents",
        label_origin=origin,
        queries=QUERIES,
        codes=CODES,
        labels=(_label(0, 2, 1, origin), _label(1, 1, 0, origin)),
        sources=(SOURCE,),
        recipe={"model": "m", "prompts": {"screener": "```\n# not a heading"}},
        undecided=(undecided,),
        failed=2,
        evidence=(_evidence(),),
    )


def _label(query: int, code: int, relevance: float, origin: str) -> Label:
    return Label(
        query_id=QUERIES[query].query_id,
        code_id=CODES[code].code_id,
        origin=origin,
        relevance=relevance,
    )


def _evidence() -> Annotation:
    call = LanguageModelCall(
        role="screener", attempt=1, model="m", prompt_digest="d", status="ok", reply="unclear"
    )
    result = ExecutionResult(outcome="passed", stdout="ok", tests_run=1, asserts_executed=2)
    oracle = OracleReport(
        faults={"kills_mutants": "only 0 of 1"},
        trials=(MutantRun(change="1 → 2", outcome="passed"),),
    )
    run = Execution(
        round=0,
        program="assert True",
        beside="import re",
        requirements=("numpy",),
        result=result,
        oracle=oracle,
    )
    return Annotation(
        query_id=QUERIES[0].query_id,
        code_id=CODES[2].code_id,
        recipe_id="r1",
        status="labelled",
        label=1,
        decided_by="arbiter",
        path="unclear_passed",
        calls=(call,),
        executions=(run, run.model_copy(update={"round": 1, "oracle": None})),
        seconds=1.5,
    )


_WORDS = [
    "sort", "list", "reverse", "text", "count", "words", "merge", "maps", "parse", "date", "split",
    "lines", "join", "paths", "round", "number", "shuffle", "cards", "find", "index", "strip",
    "spaces", "flatten", "tree",
]  # fmt: skip


@dataclass(frozen=True)
class FaultyBenchmark:
    """A benchmark in a folder, and what is true of it.

    Attributes:
        queries: Id → text.
        codes: Id → text.
        truth: Right pairs of ids.
        graded: Pairs that the folder grades as right.
    """

    queries: Mapping[str, str]
    codes: Mapping[str, str]
    truth: frozenset[tuple[str, str]]
    graded: frozenset[tuple[str, str]]

    @property
    def wrong(self) -> frozenset[tuple[str, str]]:
        """The planted wrong positives."""
        return self.graded - self.truth

    @property
    def missing(self) -> frozenset[tuple[str, str]]:
        """The planted missing ones."""
        return self.truth - self.graded

    def write(self, folder: Path) -> Path:
        """Write it as a BEIR folder under the MIT licence, and return the folder."""
        (folder / "qrels").mkdir(parents=True)
        (folder / "LICENSE").write_text("MIT License\n")
        for name, texts in (("corpus", self.codes), ("queries", self.queries)):
            rows = [json.dumps({"_id": key, "text": text}) for key, text in texts.items()]
            (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
        lines = [f"{query}\t{code}\t1\n" for query, code in sorted(self.graded)]
        (folder / "qrels" / "test.tsv").write_text("".join(lines))
        return folder


def faulty_benchmark(queries: int, *, wrong: float, missing: float, seed: int) -> FaultyBenchmark:
    """Return a benchmark of so many queries with shares of its right pairs spoilt.

    A missing one is a right code that repeats the query's words, which methods that count words
    rank higher than others do: its grade lacks, and they are judged too low.
    """
    draw = random.Random(seed)
    texts, codes = dict[str, str](), dict[str, str]()
    truth, others = list[tuple[str, str]](), list[tuple[str, str]]()
    for number in range(queries):
        query, words = f"q{number}", draw.sample(_WORDS, 3)
        texts[query] = f"python {' '.join(words)} {number}"
        for kind in range(4):
            code, is_right = f"c{number}x{kind}", kind < 2
            some = words if kind in (0, 2) else words[:2]
            body = " ".join(some * (3 if kind == 1 else 1) + draw.sample(_WORDS, 4 * kind))
            codes[code] = f"def f_{number}_{kind}(x):\n    # {body} {number}\n    return x"
            (truth if is_right else others).append((query, code))
    spoilt = round(wrong * len(truth))
    lost = [pair for pair in truth if pair[1].endswith("x1")][: round(missing * len(truth))]
    graded = {*truth} - {*lost} | {*draw.sample(others, spoilt)}
    return FaultyBenchmark(texts, codes, frozenset(truth), frozenset(graded))


def rank_scores(
    query_ids: Sequence[str], code_ids: Sequence[str], scores: npt.NDArray[np.floating], depth: int
) -> Rankings:
    """Return rankings from a full table of scores.

    Args:
        query_ids: (n,) one for each row.
        code_ids: (m,) one for each column, in ascending order, so that ties fall by id.
        scores: (n, m) higher is better.
        depth: Length of the rankings.
    """
    depth = min(depth, len(code_ids))
    order = np.array([best(row, depth) for row in scores], np.int32).reshape(-1, depth)
    ranked = np.take_along_axis(scores, order, axis=1).astype(np.float64)
    return Rankings(query_ids, code_ids, order, ranked)
