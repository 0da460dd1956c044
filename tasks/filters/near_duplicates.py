"""The filter of near duplicates among functions.

Source: Allamanis, "The Adverse Effects of Code Duplication in Machine Learning Models of Code"
(2019): two pieces of code are near duplicates when the Jaccard similarity of their sets of
identifier tokens is at least 0.8 and that of their multisets at least 0.7. Code of fewer than 20
identifiers is not compared, as by the tool of that paper: short functions are alike by nature. Code
that calls other functions is no near duplicate: so differs lcm from gcd. What is an identifier or a
call, each language says; functions of two languages are not compared.

Every pair that can be near is compared, so that nothing is dropped or kept by an estimate. Two sets
of which each has four fifths of their union in common share one of the rarest fifth of their
members, and one more: that is the prefix filter (Chaudhuri et al. 2006; Bayardo et al. 2007,
section 3). So only bags are compared that share a rare identifier and are of about one size, and
hardly any that are not alike, however many there are. What is rare is counted anew as the bags
become more; the answers do not depend on it. A product of sparse matrices (`tasks.corpus.aroma`)
compares each with each instead: of 5,000, 10,000 and 20,000 bags it takes .7, 1.9 and 8.8 s where
this takes .4, .9 and 2.2.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from infra.languages import language_named
from tasks.filters import NOT_FOR_LANGUAGE, CorpusFunction, filters

NEAR = "near duplicate"

# Least similarities, 0.8 and 0.7, as numerator and denominator: compared without rounding.
SET_SIMILARITY = (8, 10)
MULTISET_SIMILARITY = (7, 10)
FEWEST_IDENTIFIERS = 20


@filters.register("near-duplicates")
class NearDuplicates:
    """Keeps the first of several functions that are near duplicates of each other."""

    is_left_out: ClassVar[bool] = True

    def __init__(self) -> None:
        self._kept: defaultdict[str, MultisetIndex] = defaultdict(
            lambda: MultisetIndex(SET_SIMILARITY, MULTISET_SIMILARITY)
        )
        self._known: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        self._twins: list[str] = []

    @property
    def notes(self) -> list[str]:
        """Each near duplicate with the function that stays, and the setting that decides it."""
        if not self._twins:
            return []
        state, other, filter_name = (
            ("left out", "mark those alike and keep them", "marked-near-duplicates")
            if self.is_left_out
            else ("kept", "leave out all but the first of those alike", "near-duplicates")
        )
        way_out = f"to {other}, name {filter_name} in source.filters"
        return [*self._twins, f"near duplicates that are {state}: {len(self._twins):,}; {way_out}"]

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return `NEAR` for a near duplicate of an earlier function that was kept, else None."""
        language = function.language
        if language is None:
            return NOT_FOR_LANGUAGE
        bag = identifiers(function.code.text, language.name)
        if bag.total() < FEWEST_IDENTIFIERS:
            return None
        kept, known = self._kept[language.name], self._known[language.name]
        called = hash(frozenset({*language.calls(function.code.text)} - {function.own_name}))
        for row in kept.similar(bag).tolist():
            if known[row][0] == called:
                self._twins.append(f"{function.place} is a near duplicate of {known[row][1]}")
                return NEAR if self.is_left_out else None
        kept.add(bag)
        known.append((called, function.place))
        return None


def identifiers(text: str, language: str = "") -> Counter[str]:
    """Return the count of each identifier, of code in an unknown language none."""
    known = language_named(language)
    return Counter(known.identifiers(text) if known else ())


Integers = npt.NDArray[np.integer]

_FIRST_ORDER, _GROWTH = 256, 1.25  # bags after which rarity is counted first, and again
_BAGS_AT_ONCE = 1 << 16


class MultisetIndex:
    """Bags, of which it is asked whether one is near to another bag.

    Args:
        of_sets: Least Jaccard similarity of near bags' sets, as numerator and denominator.
        of_multisets: Likewise of the multisets.
    """

    def __init__(self, of_sets: tuple[int, int], of_multisets: tuple[int, int]) -> None:
        self._of_sets, self._of_multisets = of_sets, of_multisets
        self._numbers: dict[str, int] = {}
        self._ranks = array("i")  # identifier → place in the order of rarity
        self._members, self._times = array("i"), array("i")  # of all bags, one after the other
        self._starts, self._sizes, self._totals = array("q", [0]), array("i"), array("i")
        self._own = np.zeros(0, np.int32)  # identifier → how often the asked bag has it
        self._index = _Index()

    def __len__(self) -> int:
        return len(self._sizes)

    def similar(self, bag: Mapping[str, int]) -> Integers:
        """Return the numbers, from 0, of the added bags that are near to this one."""
        numbers, times = self._numbered(bag)
        total = int(times.sum())
        rows = self._index.rows(self._rarest(numbers))
        least, most = self._bounds(len(numbers), self._of_sets)
        sizes = _view(self._sizes)[rows]
        rows = rows[(sizes >= least) & (sizes <= most)]
        least, most = self._bounds(total, self._of_multisets)
        totals = _view(self._totals)[rows]
        rows = np.unique(rows[(totals >= least) & (totals <= most)])
        return self._near(rows, numbers, times) if len(rows) else rows

    def add(self, bag: Mapping[str, int]) -> None:
        """Keep a bag."""
        numbers, times = self._numbered(bag)
        self._index.add(len(self), self._rarest(numbers))
        self._members.frombytes(numbers.tobytes())
        self._times.frombytes(times.tobytes())
        self._starts.append(len(self._members))
        self._sizes.append(len(numbers))
        self._totals.append(int(times.sum()))
        if len(self) >= max(_FIRST_ORDER, _GROWTH * self._index.settled):
            self._order_anew()

    def _numbered(self, bag: Mapping[str, int]) -> tuple[npt.NDArray[np.int32], Integers]:
        known = self._numbers
        numbers = [known.setdefault(name, len(known)) for name in bag]
        # An identifier that was not counted is rarer than all that were, by its number.
        self._ranks.extend(range(-len(self._ranks) - 1, -len(known) - 1, -1))
        return np.array(numbers, np.int32), np.fromiter(bag.values(), np.int32, len(bag))

    def _rarest(self, numbers: Integers) -> Integers:
        """Return the identifiers of which a near bag has one among its own rarest."""
        order = np.argsort(_view(self._ranks)[numbers])
        return numbers[order[: self._prefix(len(numbers))]]

    def _prefix(self, size: int) -> int:
        some, of = self._of_sets
        return size + size * -some // of + 1

    def _bounds(self, size: int, similarity: tuple[int, int]) -> tuple[int, int]:
        """Return the least and the greatest size of a bag that may be near to one of this size."""
        some, of = similarity
        return -(size * -some // of), size * of // some

    def _near(self, rows: Integers, numbers: Integers, times: Integers) -> Integers:
        sizes = _view(self._sizes)[rows]
        starts = np.cumsum(sizes) - sizes
        places = np.repeat(_view(self._starts)[rows] - starts, sizes) + np.arange(sizes.sum())
        if len(self._own) < len(self._numbers):
            self._own = np.zeros(2 * len(self._numbers), np.int32)
        self._own[numbers] = times
        met = self._own[_view(self._members)[places]]
        self._own[numbers] = 0
        shared = np.add.reduceat((met > 0).astype(np.int64), starts)
        often = np.add.reduceat(np.minimum(met, _view(self._times)[places], dtype=np.int64), starts)
        either = len(numbers) + sizes - shared
        union = times.sum() + _view(self._totals)[rows] - often
        near = _at_least(shared, either, self._of_sets) & _at_least(
            often, union, self._of_multisets
        )
        return rows[near]

    def _order_anew(self) -> None:
        """Count which identifiers are rare, and index all bags by the rarest of theirs."""
        counts = np.bincount(_view(self._members), minlength=len(self._numbers))
        ranks = np.empty(len(counts), np.int32)
        ranks[np.argsort(counts, kind="stable")] = np.arange(len(counts), dtype=np.int32)
        self._ranks = array("i", ranks.tobytes())
        prefixes = np.array([self._prefix(size) for size in range(max(self._sizes) + 1)], np.int32)
        names: list[Integers] = []
        rows: list[Integers] = []
        for first in range(0, len(self), _BAGS_AT_ONCE):
            sizes = _view(self._sizes)[first : first + _BAGS_AT_ONCE]
            start = self._starts[first]
            members = _view(self._members)[start : start + sizes.sum()]
            row = np.repeat(np.arange(len(sizes)), sizes)
            members = members[np.lexsort((ranks[members], row))]
            place = np.arange(len(members)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            rare = place < prefixes[sizes][row]
            names.append(members[rare])
            rows.append(row[rare].astype(np.int32) + np.int32(first))
        self._index = _Index(np.concatenate(names), np.concatenate(rows), len(counts), len(self))


class _Index:
    """Identifier → the bags that have it among their rarest.

    Most are in two arrays; those that were added since are in a dictionary.
    """

    def __init__(
        self,
        names: Integers | None = None,
        rows: Integers | None = None,
        identifiers: int = 0,
        settled: int = 0,
    ) -> None:
        self.settled = settled
        self._added: dict[int, array[int]] = {}
        names = np.empty(0, np.int32) if names is None else names
        rows = np.empty(0, np.int32) if rows is None else rows
        self._rows = rows[np.argsort(names, kind="stable")]
        counts = np.bincount(names, minlength=identifiers)
        self._ends = np.append(0, np.cumsum(counts)).astype(np.int32)

    def rows(self, names: Integers) -> Integers:
        """Return the bags of some identifiers, a bag as often as it has one of them."""
        pieces: list[Integers] = [np.empty(0, np.int32)]
        for name in names.tolist():
            if name < len(self._ends) - 1:
                pieces.append(self._rows[self._ends[name] : self._ends[name + 1]])
            if name in self._added:
                pieces.append(_view(self._added[name]))
        return np.concatenate(pieces)

    def add(self, row: int, names: Integers) -> None:
        """Index a bag by its rarest identifiers."""
        for name in names.tolist():
            self._added.setdefault(name, array("i")).append(row)


def _view(numbers: "array[int]") -> Integers:
    """Return an array's numbers without copying; it cannot grow while they are in use."""
    if not numbers:
        return np.empty(0, np.int64)
    return np.frombuffer(numbers, np.dtype(numbers.typecode))


def _at_least(
    part: Integers, whole: Integers, similarity: tuple[int, int]
) -> npt.NDArray[np.bool_]:
    some, of = similarity
    reached: npt.NDArray[np.bool_] = part * of >= whole * some
    return reached
