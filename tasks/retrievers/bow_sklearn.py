"""The retrieval method bow-sklearn: CoSQA+'s bag of words."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from infra.records import Code, Query
from tasks.benchmarks.runs import Rankings
from tasks.retrievers import retrievers
from tasks.retrievers._counts import Counts, Vocabulary, count_words, ids_and_texts, unit_rows
from tasks.retrievers._postings import rank_all_by_words

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
        code_ids, texts = ids_and_texts(codes)
        vocabulary = Vocabulary()
        counts = count_words(texts, _words, vocabulary)
        features = _most_frequent(counts, vocabulary)
        asked = count_words((query.text for query in queries), _words, vocabulary)[:, features]
        asked.sort_indices()
        return rank_all_by_words(
            [query.query_id for query in queries],
            code_ids,
            sparse.csr_array((unit_rows(asked), asked.indices, asked.indptr), asked.shape),
            counts[:, features],
            unit_rows,
            depth,
        )


def _words(text: str) -> Iterable[str]:
    return _WORD.findall(text.lower())


def _most_frequent(counts: Counts, vocabulary: Vocabulary) -> npt.NDArray[np.intp]:
    """Return the columns of the most frequent words, in their alphabetical order."""
    in_order = np.array([vocabulary[word] for word in sorted(vocabulary)], np.intp)
    times = np.asarray(counts.sum(axis=0)).ravel()[in_order]
    chosen = np.sort((-times).argsort(kind="stable")[:_FEATURES])
    return in_order[chosen]
