"""How well the judge of Neural Code Search tells a method from another, by its threshold.

    python -m tests.bench.bench_aroma REPOSITORIES [--methods 2000]

Of methods with three statements or more, in a folder of Java files, four kinds of answers are made:
the method itself, with its local variables renamed, with its statements in another order, and
another method. The first three count as right. Printed are each kind's share above a threshold, and
precision and recall with one wrong pair for each right one.
"""

import argparse
import random
import re
import statistics
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tree_sitter import Node

from infra.languages.java import Java
from tasks.corpus.aroma import THRESHOLD, features_of, similarity
from tasks.corpus.functions import find_functions
from tasks.corpus.source_files import folder, languages_of

_THRESHOLDS = (0.1, 0.15, 0.2, THRESHOLD, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_FEWEST = 3  # statements
_JAVA = Java()


def statements_of(text: str) -> list[Node]:
    """Return the nodes of the statements of a method's body."""
    node = _JAVA.root_of(text).children[0]
    body = node.child_by_field_name("body")
    return (
        [] if body is None else [each for each in body.named_children if "comment" not in each.type]
    )


def renamed(text: str) -> str:
    """Return a method with other names of its local variables."""
    names = {leaf.text for leaf in _JAVA.leaves_of(text) if leaf.is_local}
    new = {name: f"renamed{number}" for number, name in enumerate(sorted(names))}
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda found: new.get(found[0], found[0]), text)


def reordered(text: str, draw: random.Random) -> str:
    """Return a method with its statements in another order."""
    content, nodes = text.encode(), statements_of(text)
    order = list(range(len(nodes)))
    while order == sorted(order):
        draw.shuffle(order)
    parts, end = [], 0
    for place, node in zip(order, nodes, strict=True):
        other = nodes[place]
        parts += [content[end : node.start_byte], content[other.start_byte : other.end_byte]]
        end = node.end_byte
    return b"".join([*parts, content[end:]]).decode()


def main() -> None:
    """Make the pairs, judge them, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", type=Path)
    parser.add_argument("--methods", type=int, default=2_000)
    options = parser.parse_args()
    files = folder(options.repositories, languages_of(("java",)))
    draw = random.Random(0)
    texts = list(dict.fromkeys(each.code.text for each in find_functions(files, Counter())))
    draw.shuffle(texts)
    some: list[str] = []
    for text in texts:
        if len(some) == options.methods:
            break
        if len(statements_of(text)) >= _FEWEST:
            some.append(text)
    started = time.process_time()
    methods = [features_of(text) for text in some]
    seconds = time.process_time() - started
    found = {
        "same": [similarity(method, method) for method in methods],
        "renamed": [
            similarity(features_of(renamed(text)), method)
            for text, method in zip(some, methods, strict=True)
        ],
        "reordered": [
            similarity(features_of(reordered(text, draw)), method)
            for text, method in zip(some, methods, strict=True)
        ],
        "another": [
            similarity(answer, method)
            for answer, method in zip(methods, methods[1:] + methods[:1], strict=True)
        ],
    }
    table = Table(
        title=f"{len(some):,} methods of {len(texts):,}; {len(some) / seconds:,.0f} read a second"
    )
    for column in ("above", *found, "precision", "recall"):
        table.add_column(column, justify="right")
    for threshold in _THRESHOLDS:
        above = {
            kind: statistics.mean(each > threshold for each in of) for kind, of in found.items()
        }
        recall = statistics.mean(list(above.values())[:3])
        precision = recall / (recall + above["another"]) if recall else 0.0
        cells = [f"{share:.3f}" for share in (*above.values(), precision, recall)]
        table.add_row(f"{threshold:.2f}", *cells)
    means = [f"{statistics.mean(of):.3f}" for of in found.values()]
    table.add_row("mean", *means, "", "")
    Console().print(table)


if __name__ == "__main__":
    main()
