"""Pairs of documentation and function out of the standard library and installed distributions.

    python -m tests.bench.documentation_pairs FOLDER [--train 20500] [--test 2000]

Writes FOLDER/train.jsonl and FOLDER/test.jsonl, lines of ``query``, ``code`` and ``label``, as
`cosqa study-kape --data docs=FOLDER` reads them. The distributions of the test set are not in the
training set. No code is imported or run: functions are parsed.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tasks.corpus.documentation_pairs import DocumentedFunction, documentation_pairs
from tasks.corpus.functions import find_functions
from tasks.corpus.source_files import SourceFiles, installed, languages_of, standard_library

TRAINING = (
    "torch", "scipy", "scikit-learn", "ray", "sympy", "SQLAlchemy", "prefect", "numpy", "networkx",
    "litellm", "pydantic", "huggingface_hub", "mpmath", "setuptools", "Pygments", "mypy", "pip",
)  # fmt: skip
TEST = (
    "hypothesis", "beartype", "narwhals", "redis", "rich", "aiohttp", "cyclopts", "fastapi",
    "botocore", "dateparser", "alembic", "apprise", "peft", "accelerate", "sentence-transformers",
)  # fmt: skip
_LONGEST = 600  # characters of a function, to bound the time that encoders take


def main() -> None:
    """Write both files and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", type=int, default=20_500)
    parser.add_argument("--test", type=int, default=2_000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    python = languages_of(("python",))
    training = [standard_library(), *(installed(name, python) for name in TRAINING)]
    for name, places, number in (
        ("train", training, options.train),
        ("test", [installed(name, python) for name in TEST], options.test),
    ):
        written = write_pairs(places, options.folder / f"{name}.jsonl", number)
        print(f"{name}: {written:,} pairs of {len(places)} places")


def write_pairs(places: Iterable[SourceFiles], file: Path, number: int) -> int:
    """Write at most ``number`` pairs, drawn among all functions; return how many."""
    unread = Counter[str]()
    functions: list[DocumentedFunction] = []
    for place in places:
        functions += map(DocumentedFunction.of, find_functions(place, unread))
    short = [function for function in functions if len(function.code.text) <= _LONGEST]
    info = standard_library().info("documentation")
    found = documentation_pairs(short, info, queries=number, seed=0, dropped=unread)
    codes = {code.code_id: code.text for code in found.codes}
    queries = {query.query_id: query.text for query in found.queries}
    rows = [
        {"query": queries[label.query_id], "code": codes[label.code_id], "label": 1}
        for label in found.labels
    ]
    random.Random(0).shuffle(rows)
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    return len(rows)


if __name__ == "__main__":
    main()
