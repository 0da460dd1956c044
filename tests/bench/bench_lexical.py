"""Time and memory of the lexical methods and of their runs, at any size, over made-up texts.

Words are drawn by Zipf's law from a vocabulary of a million; each text has some 600 characters.
Each row is one process: seconds and peak memory beyond the texts of ranking, of writing the run and
of reading it. The rival of ``bm25`` is the library bm25s with its own top-k retrieval, over the
same words; its row is left out above the number of codes that ``--rival-codes`` names, since it
holds every word of every code.

    python -m tests.bench.bench_lexical [--codes 653994] [--queries 20604] [--depth 100 1000]
"""

import argparse
import json
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from infra.ids import CodeId, QueryId
from infra.records import Code, Query
from infra.words import words
from tasks.benchmarks import write_run
from tasks.benchmarks.runs import Rankings
from tasks.benchmarks.trec import read_run
from tasks.retrievers import retrievers
from tests.bench.measure import memory_mb

METHODS = ("bm25", "tf-idf", "bag-of-words", "lucene", "bow-sklearn")
Result = TypeVar("Result")
_VOCABULARY, _WORDS_A_CODE, _WORDS_A_QUERY = 1_000_000, 130, 8


def main() -> None:
    """Print a row for each method and depth."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--codes", type=int, default=653_994)
    parser.add_argument("--queries", type=int, default=20_604)
    parser.add_argument("--depth", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--rival-codes", type=int, default=100_000)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(_measured(options.one, options.codes, options.queries, options.depth[0])))
        return
    print(f"{options.codes:,} codes, {options.queries:,} queries; each time with its peak memory")
    rival = ["bm25s"] if options.codes <= options.rival_codes else []
    for method in (*options.methods, *rival):
        for depth in options.depth:
            print(_row(method, depth, _run(method, options, depth)), flush=True)


def _row(method: str, depth: int, found: dict[str, list[float]]) -> str:
    parts = [f"{name} {seconds:7.1f} s {mb:6,.0f} MB" for name, (seconds, mb) in found.items()]
    return f"{method:13}{depth:6,}  " + "  ".join(parts)


def _run(method: str, options: argparse.Namespace, depth: int) -> dict[str, list[float]]:
    sizes = ["--codes", str(options.codes), "--queries", str(options.queries)]
    command = [sys.executable, "-m", "tests.bench.bench_lexical", "--one", method, *sizes]
    done = subprocess.run([*command, "--depth", str(depth)], check=True, stdout=subprocess.PIPE)
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


def _measured(method: str, codes: int, queries: int, depth: int) -> dict[str, list[float]]:
    names = np.array(_names(), object)
    generator = np.random.default_rng(0)
    chances = np.cumsum(1 / np.arange(1, _VOCABULARY + 1))

    def text(length: int) -> str:
        drawn = np.searchsorted(chances, generator.random(length) * chances[-1])
        return " ".join(names[drawn])

    asked = [Query.model_construct(query_id=QueryId(f"q{n:020x}"), text=text(_WORDS_A_QUERY))
             for n in range(queries)]  # fmt: skip
    given = [Code.model_construct(code_id=CodeId(f"c{n:020x}"), text=text(_WORDS_A_CODE))
             for n in range(codes)]  # fmt: skip
    rank = _bm25s if method == "bm25s" else retrievers.get(method)().rank
    found: dict[str, list[float]] = {}
    rankings = _timed(found, "rank", lambda: rank(asked, given, depth))
    with tempfile.TemporaryDirectory() as folder:
        file = _timed(found, "write", lambda: write_run(Path(folder), method, rankings))
        _timed(found, "read", lambda: read_run(file))
    return found


def _names() -> list[str]:
    """Return distinct words, the frequent ones short."""
    found = [""]
    while len(found) <= _VOCABULARY:
        longest = len(found[-1])
        last = [name for name in found if len(name) == longest]
        found += [name + letter for name in last for letter in string.ascii_lowercase]
    return found[1 : _VOCABULARY + 1]


def _bm25s(queries: list[Query], codes: list[Code], depth: int) -> Rankings:
    import bm25s  # noqa: PLC0415 - only here

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index([words(code.text) for code in codes], show_progress=False)
    found = index.retrieve(
        [words(query.text) for query in queries], k=depth, show_progress=False, n_threads=0
    )
    ids = [code.code_id for code in codes]
    scores = np.asarray(found.scores, np.float64)
    return Rankings([query.query_id for query in queries], ids, found.documents, scores)


def _timed(found: dict[str, list[float]], name: str, work: Callable[[], Result]) -> Result:
    """Return what some work returns; note its seconds and its peak memory beyond what there was."""
    Path("/proc/self/clear_refs").write_text("5", "utf-8")  # the peak begins anew
    before, started = memory_mb(), time.perf_counter()
    result = work()
    found[name] = [time.perf_counter() - started, memory_mb("VmHWM") - before]
    return result


if __name__ == "__main__":
    main()
