"""The retrieval method bow-sklearn: CoSQA+'s bag of words."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings
from tasks.retrievers import retrievers
from tasks.retrievers._words import Words, unit_rows

_FEATURES = 2000
_WORD = re.compile(r"\b\w\w+\b")


@retrievers.register("bow-sklearn")
class BowSklearn:
    """Cosine of scikit-learn's word counts: its 2,000 most frequent words of the codes.

    CoSQA+'s baseline (its authors' code): CountVectorizer with its defaults, fitted on the codes.
    A word is two or more letters, digits or underscores, lower-cased, so identifiers stay whole.
    The words are counted here, in less memory. Of equally frequent words the alphabetically first
    are kept, so that scores are the same on every machine; CountVectorizer leaves that to NumPy's
    sort, which orders equals differently on different processors. As there, all codes are ranked:
    those without a counted word of the query come last, here by id, there in no certain order.
    """

    revision = "2"  # 1 sorted as CountVectorizer does

    def rank(self, queries: Sequence[Query], codes: Sequence[Code], depth: int) -> Rankings:
        """Return the ``depth`` codes whose counts are nearest to each query's."""
        words = Words.of(queries, codes, _words)
        times = words.code_counts.sum(axis=0)
        in_codes = sorted(word for word, number in words.numbers.items() if times[number])
        in_order = np.array([words.numbers[word] for word in in_codes], np.intp)
        # Of the codes' most frequent words, in their alphabetical order.
        columns = in_order[np.sort((-times[in_order]).argsort(kind="stable")[:_FEATURES])]
        chosen = replace(
            words,
            query_words=words.query_words[:, columns],
            code_counts=words.code_counts[:, columns],
        )
        return chosen.rank(unit_rows(chosen.query_counts()), unit_rows, depth, all_codes=True)


def _words(text: str) -> Iterable[str]:
    return _WORD.findall(text.lower())
