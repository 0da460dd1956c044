"""Neural Code Search: fastText vectors of words, weighted by TF-IDF (Sachdev et al. 2018).

Of code the paper takes words of names, calls, literals and comments; here it is all words. The rule
of its second pass ("NCS_postrank") is not published; this encoder fused with another method
(``bm25+NAME``) is such a pass. Vectors are learned from the searched code base, and from no query.
"""

import json
from collections import Counter
from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import Self

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn.functional import embedding_bag
from torch.nn.utils.rnn import pad_sequence

from tasks.encoders import Kind
from tasks.training.joint import Features, JointModel
from tasks.training.models import models
from tasks.training.models._fasttext import SIZE, fasttext, ngrams, words_of
from tasks.training.models._layers import WEIGHTS
from tasks.training.recipes import Recipe


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
        parts = [self._parts(words_of(text), kind) for text in texts]
        rows = [torch.tensor([row for row, _ in text]) for text in parts]
        weights = [torch.tensor([weight for _, weight in text]) for text in parts]
        return {"rows": pad_sequence(rows, True), "weights": pad_sequence(weights, True)}

    def _parts(self, found: list[str], kind: Kind) -> list[tuple[int, float]]:
        known = len(self._rows)
        buckets = len(self.vectors) - known
        parts = []
        for word, count in Counter(found).items():
            row = self._rows.get(word, known)
            weight = count * self._idf[row] if kind == "code" else count / len(found)
            rows = [row] if row < known else [known + gram for gram in ngrams(word, buckets)]
            parts += [(row, weight / len(rows)) for row in rows]
        return parts

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
