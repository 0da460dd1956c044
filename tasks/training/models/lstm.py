"""DeepCS and Tok-Att: queries and code read by LSTMs.

DeepCS (Gu et al. 2018) encodes a code's name, calls and words each by itself and then fuses them.
The paper reads Java and its API's methods; here it is any language and all names that are called.
Tok-Att is a baseline of Wan et al. 2019 (MMAN) that reads tokens alone.
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
from tasks.training.models._layers import MARGIN_RECIPE, BidirectionalLstm, TokenModel, attended

_SIZE, _HIDDEN, _FUSED, _DROPOUT = 100, 200, 400, 0.25  # of DeepCS
_TOK_ATT_SIZE, _TOK_ATT_HIDDEN = 300, 512


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


def max_pooled(vectors: Tensor, mask: Tensor) -> Tensor:
    """Return (texts, size), the greatest of each coordinate over a text's tokens."""
    return vectors.masked_fill(~mask.unsqueeze(2), -torch.inf).amax(1)


@models.register("tok-att")
class TokAtt(TokenModel):
    """A code is the mean of an LSTM's outputs by attention, a query the LSTM's last output."""

    recipe = MARGIN_RECIPE
    dimension = _TOK_ATT_HIDDEN
    fields: ClassVar = {"query": {"query": words}, "code": {"code": words}}

    def __init__(self, vocabularies: Mapping[str, Tokenizer]) -> None:
        super().__init__(vocabularies)
        self.tables, self.lstms = nn.ModuleDict(), nn.ModuleDict()
        for kind in vocabularies:
            self.tables[kind] = self.table(kind, _TOK_ATT_SIZE)
            self.lstms[kind] = nn.LSTM(_TOK_ATT_SIZE, _TOK_ATT_HIDDEN, batch_first=True)
        self.dense = nn.Linear(_TOK_ATT_HIDDEN, _TOK_ATT_HIDDEN)
        self.attention = nn.Linear(_TOK_ATT_HIDDEN, 1, bias=False)

    def forward(self, features: Features, kind: Kind) -> Tensor:
        """Return (texts, 512) vectors."""
        mask = features[kind] != PADDING
        outputs, _ = self.lstms[kind](self.tables[kind](features[kind]))
        if kind == "query":
            last = (mask.sum(1) - 1).reshape(-1, 1, 1)
            found: Tensor = outputs.take_along_dim(last, 1).squeeze(1)
            return found
        scores = self.attention(torch.tanh(self.dense(outputs))).squeeze(2)
        return attended(outputs, scores, mask)
