"""fastText vectors (Bojanowski et al. 2017), learned from a corpus and nothing else."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from gensim.models import FastText
from gensim.models.fasttext import FastTextKeyedVectors

SIZE = 100
EPOCHS = 5
LEARNING_RATE = 0.05
SHORTEST, LONGEST = 3, 6  # letters of an n-gram, the marks at a word's ends among them
BUCKETS = 200_000  # of n-grams; fastText's 2 million would take 800 MB
_MIN_COUNT = 5


def fasttext(texts: Sequence[list[str]], seed: int) -> FastTextKeyedVectors:
    """Return vectors of the words of texts, and of their n-grams: skip-gram, fastText's defaults.

    The same texts and seed give the same vectors on the same machine.

    Args:
        texts: Each as its words; at least one has a word.
        seed: Of first vectors and of draws.
    """
    most = max(Counter(chain.from_iterable(texts)).values())
    model = FastText(
        sentences=texts,
        sg=1,
        vector_size=SIZE,
        alpha=LEARNING_RATE,
        epochs=EPOCHS,
        min_count=min(_MIN_COUNT, most),  # a small corpus has words, too
        sample=1e-4,
        min_n=SHORTEST,
        max_n=LONGEST,
        bucket=BUCKETS,
        seed=seed,
        workers=1,  # several would race
    )
    return model.wv
