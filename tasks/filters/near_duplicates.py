"""The filter of near duplicates among functions.

Source: Allamanis, "The Adverse Effects of Code Duplication in Machine Learning Models of Code"
(2019): two pieces of code are near duplicates when the Jaccard similarity of their sets of
identifier tokens is at least 0.8 and that of their multisets at least 0.7. Code of fewer than 20
identifiers is not compared, as by the tool of that paper: short functions are alike by nature. Code
that calls other functions is no near duplicate: so differs lcm from gcd. What is an identifier or a
call, each language says; functions of two languages are not compared.

Every pair that can be near is compared, so that nothing is dropped or kept by an estimate
(`tasks.filters._multiset_index`).
"""

from collections import Counter, defaultdict
from typing import ClassVar

from infra.languages import language_named
from tasks.filters import NOT_FOR_LANGUAGE, CorpusFunction, filters
from tasks.filters._multiset_index import MultisetIndex

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
