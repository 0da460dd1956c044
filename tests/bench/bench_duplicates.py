"""Time and memory of finding near duplicates, as the number of functions grows.

The functions are those of the installed distributions and, after them, copies in which some names
are changed. Each row is one process. The rival is datasketch's MinHash with an exact comparison of
what it finds (64 permutations, 16 bands of 4 rows, identifiers in a ``Counter`` for each function);
it comes with ``pip install -e '.[rivals]'`` and is passed over without.

    python -m tests.bench.bench_duplicates [--functions 10000 30000 100000]

An exponent is that of the time between a row and the row before: 1 is linear, 2 is every pair.
"""

import argparse
import gc
import importlib.metadata
import importlib.util
import json
import math
import random
import re
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Protocol

from infra.errors import CosqaError
from infra.records import normalise_code
from tasks.corpus.functions import find_functions
from tasks.corpus.python_files import installed, standard_library
from tasks.filters._kept_bags import KeptBags
from tasks.filters.near_duplicates import (
    FEWEST_IDENTIFIERS,
    MULTISET_SIMILARITY,
    SET_SIMILARITY,
    identifiers,
)
from tests.bench.measure import memory_mb

_NAME = re.compile(r"\b[a-z]\w{2,}\b")


class Finder(Protocol):
    """What finds near duplicates."""

    def is_near(self, bag: Counter[str]) -> bool:
        """Return whether a bag is near to an earlier one; keep it if not."""
        ...


class Ours:
    """The product's filter."""

    def __init__(self) -> None:
        self._kept = KeptBags(SET_SIMILARITY, MULTISET_SIMILARITY)

    def is_near(self, bag: Counter[str]) -> bool:
        """See ``Finder``."""
        near = len(self._kept.near(bag)) > 0
        if not near:
            self._kept.add(bag)
        return near


class MinHashed:
    """datasketch, and an exact comparison of what it finds."""

    def __init__(self) -> None:
        from datasketch import MinHash, MinHashLSH  # noqa: PLC0415 - optional

        self._empty = MinHash(num_perm=64, hashfunc=lambda token: zlib.crc32(token.encode()))
        self._index: Any = MinHashLSH(num_perm=64, params=(16, 4))
        self._kept: list[Counter[str]] = []

    def is_near(self, bag: Counter[str]) -> bool:
        """See ``Finder``."""
        sketch = self._empty.copy()
        sketch.update_batch(bag)
        if any(_are_near(bag, self._kept[row]) for row in self._index.query(sketch)):
            return True
        self._index.insert(len(self._kept), sketch, check_duplication=False)
        self._kept.append(bag)
        return False


def _are_near(one: Counter[str], other: Counter[str]) -> bool:
    shared, either = len(one.keys() & other.keys()), len(one.keys() | other.keys())
    return shared >= 0.8 * either and (one & other).total() >= 0.7 * (one | other).total()


FINDERS: dict[str, type[Ours] | type[MinHashed]] = {"ours": Ours, "datasketch": MinHashed}


def main() -> None:
    """Print a row for each finder and number of functions."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--functions", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(_measured(options.one[0], int(options.one[1]))))
        return
    print(f"{'finder':11}{'functions':>10}{'dropped':>9}{'seconds':>9}{'us each':>9}"
          f"{'exponent':>9}{'bytes each':>11}")  # fmt: skip
    for name in FINDERS:
        if name != "ours" and importlib.util.find_spec(name) is None:
            continue
        before: tuple[int, float] | None = None
        for wanted in options.functions:
            found = _run(name, wanted)
            number, seconds = int(found["functions"]), found["seconds"]
            exponent = "" if before is None else f"{_exponent(before, (number, seconds)):.2f}"
            before = number, seconds
            print(f"{name:11}{number:10,}{found['dropped']:9,.0f}{seconds:9.2f}"
                  f"{seconds / number * 1e6:9.0f}{exponent:>9}{found['bytes'] / number:11,.0f}",
                  flush=True)  # fmt: skip


def _exponent(first: tuple[int, float], second: tuple[int, float]) -> float:
    return math.log(second[1] / first[1]) / math.log(second[0] / first[0])


def _run(name: str, number: int) -> dict[str, float]:
    words = [sys.executable, "-m", "tests.bench.bench_duplicates", "--one", name, str(number)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _measured(name: str, number: int) -> dict[str, float]:
    """Return seconds of the processor and more memory of one process."""
    texts = list(islice(_texts(), number))
    FINDERS[name]()  # imports
    gc.collect()
    before, finder, dropped = memory_mb(), FINDERS[name](), 0
    started = time.process_time()
    for text in texts:
        bag = identifiers(text)
        dropped += bag.total() >= FEWEST_IDENTIFIERS and finder.is_near(bag)
    seconds = time.process_time() - started
    more = (memory_mb() - before) * 2**20
    return {"functions": len(texts), "dropped": dropped, "seconds": seconds, "bytes": more}


def _texts() -> Iterator[str]:
    """Yield the functions of what is installed, and then changed copies of them, without end."""
    real: dict[str, None] = {}
    for text in chain(_functions(None), *map(_functions, _distributions())):
        if text not in real:
            real[text] = None
            yield text
    drawn, functions = random.Random(3), list(real)
    while True:
        text, share = drawn.choice(functions), drawn.random() / 2
        changed = {name for name in set(_NAME.findall(text)) if drawn.random() < share}
        ending = f"_{drawn.randrange(100)}"
        yield _NAME.sub(lambda name: name[0] + ending * (name[0] in changed), text)  # noqa: B023


def _distributions() -> list[str]:
    return sorted({str(each.metadata["Name"]) for each in importlib.metadata.distributions()})


def _functions(distribution: str | None) -> Iterator[str]:
    """Yield the functions of a distribution, or of the standard library."""
    try:
        files = installed(distribution) if distribution else standard_library()
    except CosqaError:
        return
    for function in find_functions(files, Counter()):
        yield normalise_code(function.code.text)


if __name__ == "__main__":
    main()
