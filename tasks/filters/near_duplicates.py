"""The filter of near duplicates among functions.

Source: Allamanis, "The Adverse Effects of Code Duplication in Machine Learning Models of Code"
(2019): two pieces of code are near duplicates when the Jaccard similarity of their sets of
identifier tokens is at least 0.8 and that of their multisets at least 0.7. Code of few identifiers
is not compared, since short functions are alike by nature; CodeSearchNet takes 10 as the least.

MinHash finds the pairs worth comparing (Broder 1997), and the exact similarities decide, so that
nothing is dropped by an estimate.
"""

import keyword
import re
import zlib
from collections import Counter

from tasks.filters import CorpusFunction, filters

NEAR = "near duplicate"

SET_SIMILARITY = 0.8
MULTISET_SIMILARITY = 0.7
FEWEST_IDENTIFIERS = 10

_PERMUTATIONS = 64
# 16 bands of 4 rows: a pair at Jaccard 0.8 shares a band with probability 0.9998, one at 0.4 with
# 0.34, which costs one exact comparison.
_BANDS = (16, 4)
_STRING = r"""[rbfuRBFU]{0,2}(?:'{3}.*?'{3}|"{3}.*?"{3}|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")"""
_IDENTIFIER = re.compile(rf"#[^\n]*|{_STRING}|\d\w*|([^\W\d]\w*)", re.DOTALL)


@filters.register("near-duplicates")
class NearDuplicates:
    """Keeps the first of several functions that are near duplicates of each other."""

    def __init__(self) -> None:
        from datasketch import MinHash, MinHashLSH  # noqa: PLC0415 - takes two seconds to import

        self._empty = MinHash(num_perm=_PERMUTATIONS, hashfunc=_hash)
        self._index = MinHashLSH(num_perm=_PERMUTATIONS, params=_BANDS)
        self._kept: list[Counter[str]] = []

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return `NEAR` for a near duplicate of an earlier function that was kept, else None."""
        bag = identifiers(function.code.text)
        if bag.total() < FEWEST_IDENTIFIERS:
            return None
        sketch = self._empty.copy()
        sketch.update_batch(bag)
        if any(are_near(bag, self._kept[row]) for row in self._index.query(sketch)):
            return NEAR
        self._index.insert(len(self._kept), sketch, check_duplication=False)
        self._kept.append(bag)
        return None


def identifiers(text: str) -> Counter[str]:
    """Return how often each identifier occurs; keywords, strings and comments hold none."""
    counts = Counter(_IDENTIFIER.findall(text))
    for word in ("", *keyword.kwlist):
        counts.pop(word, None)
    return counts


def similarity(one: Counter[str], other: Counter[str]) -> float:
    """Return the Jaccard similarity of two multisets in [0, 1]; that of two empty ones is 1."""
    union = (one | other).total()
    return (one & other).total() / union if union else 1.0


def are_near(one: Counter[str], other: Counter[str]) -> bool:
    """Return whether two bags of identifiers are those of near duplicates."""
    shared, either = len(one.keys() & other.keys()), len(one.keys() | other.keys())
    return shared >= SET_SIMILARITY * either and similarity(one, other) >= MULTISET_SIMILARITY


def _hash(token: str) -> int:
    return zlib.crc32(token.encode())
