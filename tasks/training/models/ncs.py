"""Neural Code Search: fastText vectors of words, weighted by TF-IDF (Sachdev et al. 2018).

Of code the paper takes words of names, calls, literals and comments; here it is all words. Its
second pass over the first results ("NCS_postrank") is no vector, and not part of it.
"""

import json
from collections import Counter
from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import ClassVar, Self

import torch
from gensim.models.fasttext import ft_ngram_hashes
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.functional import embedding_bag
from torch.nn.utils.rnn import pad_sequence

from tasks.encoders import Kind
from tasks.training.models import Features, JointModel, models
from tasks.training.models._fasttext import (
    BUCKETS,
    EPOCHS,
    LEARNING_RATE,
    LONGEST,
    SHORTEST,
    fasttext,
)
from tasks.training.models._layers import WEIGHTS, reading, save_weights
from tasks.training.models._text import UNKNOWN, words
from tasks.training.recipes import Recipe

_WORDS = "words.json"


@models.register("ncs")
class Ncs(JointModel):
    """A query is the mean of its words' vectors, a code the sum of its words' by TF-IDF.

    A word that fastText has not kept is the mean of its n-grams.

    Args:
        known: The words that have a vector of their own.
        vectors: (known words + buckets of n-grams, size) vectors.
        idf: (known words + 1,) inverse document frequencies, the last one of all other words.
    """

    recipe: ClassVar[Recipe] = Recipe(
        name="ncs",
        source="Sachdev et al. 2018, Neural Code Search; fastText's defaults",
        loss="none",
        epochs=EPOCHS,
        batch_size=2,
        learning_rate=LEARNING_RATE,
    )
    vectors: Tensor

    def __init__(self, known: Sequence[str], vectors: Tensor, idf: Tensor) -> None:
        super().__init__()
        self._rows = {word: row for row, word in enumerate(known)}
        self.register_buffer("vectors", vectors)
        self.register_buffer("idf", idf)
        self._idf: list[float] = idf.tolist()

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self.vectors.shape[1]

    @classmethod
    def of(cls, queries: Sequence[str], codes: Sequence[str], recipe: Recipe) -> Self:
        """Return a model that is trained already: fastText on both sides, frequencies of codes."""
        said = [_words(code) for code in codes]
        found = fasttext([*map(_words, queries), *said], recipe.seed)
        holding = Counter(word for code in said for word in set(code))
        idf = [log((1 + len(said)) / (1 + holding[word])) + 1 for word in found.index_to_key]
        rows = torch.cat([torch.from_numpy(found.vectors), torch.from_numpy(found.vectors_ngrams)])
        return cls(found.index_to_key, rows, torch.tensor([*idf, log(1 + len(said)) + 1]))

    def features(self, texts: Sequence[str], kind: Kind) -> dict[str, Tensor]:
        """Return (texts, rows) numbers of vectors, and the weight of each; 0 fills a text."""
        rows, weights = [], []
        for text in texts:
            found = _words(text)
            parts = [
                (row, weight)
                for word, count in Counter(found).items()
                for row, weight in self._parts(word, count, kind)
            ]
            rows.append(torch.tensor([row for row, _ in parts]))
            share = len(found) if kind == "query" else 1
            weights.append(torch.tensor([weight / share for _, weight in parts]))
        return {"rows": pad_sequence(rows, True), "weights": pad_sequence(weights, True)}

    def _parts(self, word: str, count: int, kind: Kind) -> list[tuple[int, float]]:
        known = len(self._rows)
        row = self._rows.get(word, known)
        weight = count * (self._idf[row] if kind == "code" else 1.0)
        if row < known:
            return [(row, weight)]
        grams = ft_ngram_hashes(word, SHORTEST, LONGEST, BUCKETS)
        return [(known + gram, weight / len(grams)) for gram in grams]

    def forward(self, features: Features, kind: Kind) -> Tensor:  # noqa: ARG002 - in the weights
        """Return (texts, size) sums of weighted vectors."""
        weights = features["weights"]
        return embedding_bag(features["rows"], self.vectors, per_sample_weights=weights, mode="sum")

    def save(self, folder: Path) -> None:
        """Write ``model.safetensors`` and ``words.json``."""
        save_weights(self, folder)
        (folder / _WORDS).write_text(json.dumps(list(self._rows)), "utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that `save` wrote.

        Raises:
            EncoderError: A file lacks or is damaged.
        """
        with reading(folder):
            known = json.loads((folder / _WORDS).read_text("utf-8"))
            state = load_file(folder / WEIGHTS)
            return cls(known, state["vectors"], state["idf"])


def _words(text: str) -> list[str]:
    return words(text) or [UNKNOWN]
