"""DeepCS: a code's name, calls and words, each encoded by itself and then fused (Gu et al. 2018).

The paper reads Java and its API's methods; here it is any language and all names that are called.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.functional import dropout

from infra.text import words
from tasks.encoders import Kind
from tasks.training.joint import Features
from tasks.training.model_text import PADDING, bag, calls, name_words
from tasks.training.models import models
from tasks.training.models._layers import MARGIN_RECIPE, BidirectionalLstm, TokenModel, max_pooled

_SIZE, _HIDDEN, _FUSED, _DROPOUT = 100, 200, 400, 0.25


@models.register("deepcs")
class DeepCs(TokenModel):
    """Name, calls and query by a bidirectional LSTM, words by a dense layer; all by their maximum.

    Dropout, and tanh behind each maximum, are of the code published with the paper.
    """

    recipe = MARGIN_RECIPE.model_copy(update={"code_length": 50})
    dimension = _FUSED
    fields: ClassVar = {
        "query": {"query": words},
        "code": {"name": name_words, "calls": calls, "code": bag},
    }
    lengths: ClassVar = {"name": 6, "calls": 30}

    def __init__(self, vocabularies: Mapping[str, Tokenizer]) -> None:
        super().__init__(vocabularies)
        self.tables, self.lstms = nn.ModuleDict(), nn.ModuleDict()
        for field in vocabularies:
            self.tables[field] = self.table(field, _SIZE)
            if field != "code":
                self.lstms[field] = BidirectionalLstm(_SIZE, _HIDDEN, dropout=_DROPOUT)
        self.bag = nn.Linear(_SIZE, _SIZE)
        self.fuse = nn.Linear(2 * 2 * _HIDDEN + _SIZE, _FUSED)

    def forward(self, features: Features, kind: Kind) -> Tensor:
        """Return (texts, 400) vectors."""
        parts = torch.cat([self._pooled(field, features[field]) for field in self.fields[kind]], 1)
        return parts if kind == "query" else torch.tanh(self.fuse(parts))

    def _pooled(self, field: str, tokens: Tensor) -> Tensor:
        mask = tokens != PADDING
        vectors = dropout(self.tables[field](tokens), _DROPOUT, self.training)
        is_bag = field == "code"
        read = torch.tanh(self.bag(vectors)) if is_bag else self.lstms[field](vectors, mask)
        return torch.tanh(max_pooled(read, mask))
