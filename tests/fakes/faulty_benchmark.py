"""A made benchmark with planted faults: positives that are wrong, and right codes without a grade.

Each query has several right codes, which share with it some words, so that methods rank them high
in ways of their own; other codes share words too and are wrong. The truth is known.
"""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
