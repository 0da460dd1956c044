"""NCS and UNIF: fastText vectors (Bojanowski et al. 2017), learned from a corpus and nothing else.

Neural Code Search (Sachdev et al. 2018) weighs them by TF-IDF. Of code the paper takes words of
names, calls, literals and comments; here it is all words. The rule of its second pass
("NCS_postrank") is not published; this encoder fused with another method (``bm25+NAME``) is such a
pass. Vectors are learned from the searched code base, and from no query. UNIF (Cambronero et al.
2019) trains them on, with attention over code.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.functional import embedding_bag
from torch.nn.utils.rnn import pad_sequence

from infra.text import words
from tasks.encoders import Kind
from tasks.training.joint import Features, JointModel
from tasks.training.model_text import PADDING, UNKNOWN
from tasks.training.models import models
from tasks.training.models._layers import MARGIN_RECIPE, WEIGHTS, TokenModel, attended
from tasks.training.recipes import Recipe

if TYPE_CHECKING:
    from gensim.models.fasttext import FastTextKeyedVectors


SIZE = 100


def words_of(text: str) -> list[str]:
    """Return the words of a text; of one without a word `UNKNOWN`."""
    return words(text) or [UNKNOWN]


def fasttext(texts: Sequence[list[str]], seed: int, buckets: int) -> "FastTextKeyedVectors":
    """Return vectors of the words of texts, and of their n-grams: skip-gram, fastText's defaults.

    Args:
        texts: Their words, at least one in all.
        seed: Of first vectors and samples.
        buckets: Rows of the table that n-grams share.
    """
    from gensim.models import FastText  # noqa: PLC0415 - takes a second

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
    from gensim.models.fasttext import ft_ngram_hashes  # noqa: PLC0415 - as above

    return list(ft_ngram_hashes(word, 3, 6, buckets))


@models.register("ncs")
class Ncs(JointModel):
    """A query is the mean of its words' vectors, a code the sum of its words' by TF-IDF.

    A word outside fastText's vocabulary is the mean of its n-grams.

    Args:
        known: The vocabulary.
        vectors: (vocabulary + n-grams, size) vectors.
        idf: (vocabulary + 1,) inverse document frequencies, the last one of all other words.
    """

    recipe = Recipe(
        name="ncs",
        source="Sachdev et al. 2018, Neural Code Search; fastText's defaults; the whole code base",
        loss="none",
        epochs=5,
        batch_size=2,
        learning_rate=0.05,
    )
    dimension = SIZE
    vectors: Tensor

    def __init__(self, known: Sequence[str], vectors: Tensor, idf: Tensor) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors)
        self.register_buffer("idf", idf)
        self._rows = {word: row for row, word in enumerate(known)}
        self._idf: list[float] = idf.tolist()

    @classmethod
    def of(cls, queries: Sequence[str], codes: Sequence[str], recipe: Recipe) -> Self:  # noqa: ARG003 - unread
        """Return a model that is trained already: fastText on code, words' frequencies."""
        documents = [words_of(code) for code in codes]
        found = fasttext(documents, recipe.seed, recipe.buckets)
        frequency = Counter(word for document in documents for word in set(document))
        frequencies = [*(frequency[word] for word in found.index_to_key), 0]
        idf = torch.tensor([log((1 + len(documents)) / (1 + n)) + 1 for n in frequencies])
        rows = torch.cat([torch.tensor(found.vectors), torch.tensor(found.vectors_ngrams)])
        return cls(found.index_to_key, rows, idf)

    def features(self, texts: Sequence[str], kind: Kind) -> dict[str, Tensor]:
        """Return (texts, rows) numbers of vectors, and the weight of each, padded with 0."""
        known = len(self._rows)
        buckets = len(self.vectors) - known
        rows, weights = [], []
        for text in texts:
            found = words_of(text)
            parts: list[tuple[int, float]] = []
            for word, count in Counter(found).items():
                row = self._rows.get(word, known)
                weight = count * self._idf[row] if kind == "code" else count / len(found)
                grams = [row] if row < known else [known + gram for gram in ngrams(word, buckets)]
                parts += [(gram, weight / len(grams)) for gram in grams]
            rows.append(torch.tensor([row for row, _ in parts]))
            weights.append(torch.tensor([weight for _, weight in parts]))
        return {"rows": pad_sequence(rows, True), "weights": pad_sequence(weights, True)}

    def forward(self, features: Features, kind: Kind) -> Tensor:  # noqa: ARG002 - in the weights
        """Return (texts, 100) sums of weighted vectors."""
        rows, weights = features["rows"], features["weights"]
        return embedding_bag(rows, self.vectors, per_sample_weights=weights, mode="sum")

    def save(self, folder: Path) -> None:
        """Write ``model.safetensors`` and ``words.json``."""
        save_file(self.state_dict(), folder / WEIGHTS)
        (folder / "words.json").write_text(json.dumps(list(self._rows)), "utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that `save` wrote."""
        known = json.loads((folder / "words.json").read_text("utf-8"))
        return cls(known, **load_file(folder / WEIGHTS))


@models.register("unif")
class Unif(TokenModel):
    """A query is the mean of its words' vectors, a code a mean weighted by attention.

    A word's weight is the softmax, over the code's words, of the product of its vector and a
    learned one. Each side has its table.
    """

    recipe = MARGIN_RECIPE
    dimension = SIZE
    fields: ClassVar = {"query": {"query": words}, "code": {"code": words}}

    def __init__(self, vocabularies: Mapping[str, Tokenizer]) -> None:
        super().__init__(vocabularies)
        self.query, self.code = self.table("query", SIZE), self.table("code", SIZE)
        self.attention = nn.Linear(SIZE, 1, bias=False)

    @classmethod
    def of(cls, queries: Sequence[str], codes: Sequence[str], recipe: Recipe) -> Self:
        """Return a model whose tables hold fastText vectors of both sides' words."""
        model = super().of(queries, codes, recipe)
        texts = [words_of(text) for text in (*queries, *codes)]
        found = fasttext(texts, recipe.seed, recipe.buckets)
        for side, table in (("query", model.query), ("code", model.code)):
            for word, row in model.vocabularies[side].get_vocab().items():
                table.weight.data[row] = torch.tensor(found[word])
        return model

    def forward(self, features: Features, kind: Kind) -> Tensor:
        """Return (texts, 100) vectors."""
        mask = features[kind] != PADDING
        if kind == "query":
            return attended(self.query(features[kind]), 0.0 * mask, mask)
        vectors = self.code(features[kind])
        return attended(vectors, self.attention(vectors).squeeze(2), mask)
