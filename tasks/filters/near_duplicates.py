"""The filter of near duplicates among functions.

Source: Allamanis, "The Adverse Effects of Code Duplication in Machine Learning Models of Code"
(2019): two pieces of code are near duplicates when the Jaccard similarity of their sets of
identifier tokens is at least 0.8 and that of their multisets at least 0.7. Code of few identifiers
is not compared, since short functions are alike by nature; CodeSearchNet takes 10 as the least.
What is an identifier, each language says; functions of two languages are not compared.

Every pair that can be near is compared, so that nothing is dropped or kept by an estimate
(`tasks.filters._kept_bags`).
"""

from collections import Counter, defaultdict

from infra.languages import language_named
from tasks.filters import NOT_FOR_LANGUAGE, CorpusFunction, filters
from tasks.filters._kept_bags import KeptBags

NEAR = "near duplicate"

# Least similarities, 0.8 and 0.7, as numerator and denominator: compared without rounding.
SET_SIMILARITY = (8, 10)
MULTISET_SIMILARITY = (7, 10)
FEWEST_IDENTIFIERS = 10


@filters.register("near-duplicates")
class NearDuplicates:
    """Keeps the first of several functions that are near duplicates of each other."""

    def __init__(self) -> None:
        self._kept: defaultdict[str, KeptBags] = defaultdict(
            lambda: KeptBags(SET_SIMILARITY, MULTISET_SIMILARITY)
        )

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return `NEAR` for a near duplicate of an earlier function that was kept, else None."""
        language = function.language
        if language is None:
            return NOT_FOR_LANGUAGE
        bag = identifiers(function.code.text, language.name)
        if bag.total() < FEWEST_IDENTIFIERS:
            return None
        kept = self._kept[language.name]
        if len(kept.near(bag)):
            return NEAR
        kept.add(bag)
        return None


def identifiers(text: str, language: str = "") -> Counter[str]:
    """Return the count of each identifier, of code in an unknown language none."""
    known = language_named(language)
    return Counter(known.identifiers(text) if known else ())
