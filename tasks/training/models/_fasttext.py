"""fastText vectors (Bojanowski et al. 2017), learned from a corpus and nothing else."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from gensim.models import FastText
from gensim.models.fasttext import FastTextKeyedVectors, ft_ngram_hashes

from infra.text import words
from tasks.training.model_text import UNKNOWN

SIZE = 100


def words_of(text: str) -> list[str]:
    """Return the words of a text; of one without a word `UNKNOWN`."""
    return words(text) or [UNKNOWN]


def fasttext(texts: Sequence[list[str]], seed: int, buckets: int) -> FastTextKeyedVectors:
    """Return vectors of the words of texts, and of their n-grams: skip-gram, fastText's defaults.

    Args:
        texts: Their words, at least one in all.
        seed: Of first vectors and samples.
        buckets: Rows of the table that n-grams share.
    """
    most = max(Counter(chain.from_iterable(texts)).values())
    return FastText(
        sentences=texts,
        sg=1,
        vector_size=SIZE,
        alpha=0.05,
        epochs=5,
        min_count=min(5, most),  # a small corpus has words, too
        sample=1e-4,
        bucket=buckets,
        seed=seed,
        workers=1,  # several would race
    ).wv


def ngrams(word: str, buckets: int) -> list[int]:
    """Return the rows of ``vectors_ngrams`` whose mean is the vector of an unknown word."""
    return list(ft_ngram_hashes(word, 3, 6, buckets))
