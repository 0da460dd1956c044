"""Exact and near duplicates among functions.

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
from collections.abc import Iterable, Sequence

from infra.records import normalise_code

EXACT = "exact duplicate"
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


def identifiers(text: str) -> Counter[str]:
    """Return how often each identifier occurs; keywords, strings and comments hold none."""
    found = Counter(_IDENTIFIER.findall(text))
    for word in ("", *keyword.kwlist):
        found.pop(word, None)
    return found


def similarity(one: Counter[str], other: Counter[str]) -> float:
    """Return the Jaccard similarity of two multisets in [0, 1]; that of two empty ones is 1."""
    union = (one | other).total()
    return (one & other).total() / union if union else 1.0


def exact_duplicates(texts: Iterable[str]) -> set[int]:
    """Return the positions of texts that equal an earlier one, white space at ends aside."""
    seen: set[str] = set()
    again: set[int] = set()
    for position, text in enumerate(map(normalise_code, texts)):
        if text in seen:
            again.add(position)
        seen.add(text)
    return again


def near_duplicates(texts: Sequence[str]) -> set[int]:
    """Return the positions of texts that are near duplicates of an earlier one that stays.

    Of several alike the first stays, so that the order decides and not chance.
    """
    from datasketch import MinHash, MinHashLSH  # noqa: PLC0415 - two seconds that others can spare

    bags = [identifiers(text) for text in texts]
    compared = [row for row, bag in enumerate(bags) if bag.total() >= FEWEST_IDENTIFIERS]
    sketches = MinHash.generator(
        (bags[row] for row in compared), num_perm=_PERMUTATIONS, hashfunc=_hash
    )
    index = MinHashLSH(num_perm=_PERMUTATIONS, params=_BANDS)
    dropped: set[int] = set()
    for row, sketch in zip(compared, sketches, strict=True):
        if any(are_near(bags[row], bags[kept]) for kept in index.query(sketch)):
            dropped.add(row)
        else:
            index.insert(row, sketch, check_duplication=False)
    return dropped


def are_near(one: Counter[str], other: Counter[str]) -> bool:
    """Tell whether two bags of identifiers are those of near duplicates."""
    shared, either = len(one.keys() & other.keys()), len(one.keys() | other.keys())
    return shared >= SET_SIMILARITY * either and similarity(one, other) >= MULTISET_SIMILARITY


def _hash(token: str) -> int:
    return zlib.crc32(token.encode())
