"""UNIF: fastText vectors, trained on, with attention over code (Cambronero et al. 2019)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from tasks.encoders import Kind
from tasks.training.models import Features, models
from tasks.training.models._fasttext import SIZE, fasttext
from tasks.training.models._layers import TokenModel, attended
from tasks.training.models._text import PADDING, words
from tasks.training.recipes import Recipe


@models.register("unif")
class Unif(TokenModel):
    """A query is the mean of its words' vectors, a code a mean weighted by attention.

    A word's weight is the softmax, over the code's words, of the product of its vector and a
    learned one. Each side has its table.
    """

    recipe: ClassVar[Recipe] = Recipe(
        name="unif",
        source="Cambronero et al. 2019, UNIF; margin, batch and rate of Gu et al. 2018; 500 "
        "epochs of Guo et al., KAPE",
        loss="random-margin",
        margin=0.05,
        epochs=500,
        batch_size=128,
        learning_rate=1e-3,
        schedule="constant",
        query_length=30,
        metric="MRR",
        dev_codes="own",
    )
    fields: ClassVar = {"query": {"query": words}, "code": {"code": words}}

    def __init__(self, vocabularies: Mapping[str, Tokenizer]) -> None:
        super().__init__(vocabularies)
        self.query = self.table("query", SIZE)
        self.code = self.table("code", SIZE)
        self.attention = nn.Linear(SIZE, 1, bias=False)

    @classmethod
    def of(cls, queries: Sequence[str], codes: Sequence[str], recipe: Recipe) -> Self:
        """Return a model whose tables hold fastText vectors of both sides' words."""
        model = super().of(queries, codes, recipe)
        found = fasttext([words(text) for text in (*queries, *codes)], recipe.seed)
        for side, table in (("query", model.query), ("code", model.code)):
            known = model.vocabularies[side].get_vocab()
            rows = torch.stack(
                [torch.tensor(found[word]) for word in sorted(known, key=known.__getitem__)]
            )
            table.weight.data.copy_(rows)
        return model

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return SIZE

    def forward(self, features: Features, kind: Kind) -> Tensor:
        """Return (texts, 100) vectors."""
        tokens = features[kind]
        mask = tokens != PADDING
        if kind == "query":
            vectors = self.query(tokens)
            scores = torch.zeros_like(mask, dtype=vectors.dtype)
        else:
            vectors = self.code(tokens)
            scores = self.attention(vectors).squeeze(2)
        return attended(vectors, scores, mask)
