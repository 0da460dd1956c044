"""UNIF: fastText vectors, trained on, with attention over code (Cambronero et al. 2019)."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from infra.text import words
from tasks.encoders import Kind
from tasks.training.joint import Features
from tasks.training.model_text import PADDING
from tasks.training.models import models
from tasks.training.models._fasttext import SIZE, fasttext, words_of
from tasks.training.models._layers import MARGIN_RECIPE, TokenModel, attended
from tasks.training.recipes import Recipe


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
