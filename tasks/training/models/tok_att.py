"""Tok-Att, a baseline of Wan et al. 2019 (MMAN) that reads tokens alone, by an LSTM."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from infra.text import words
from tasks.encoders import Kind
from tasks.training.joint import Features
from tasks.training.model_text import PADDING
from tasks.training.models import models
from tasks.training.models._layers import MARGIN_RECIPE, TokenModel, attended

_SIZE, _HIDDEN = 300, 512


@models.register("tok-att")
class TokAtt(TokenModel):
    """A code is the mean of an LSTM's outputs by attention, a query the LSTM's last output."""

    recipe = MARGIN_RECIPE
    dimension = _HIDDEN
    fields: ClassVar = {"query": {"query": words}, "code": {"code": words}}

    def __init__(self, vocabularies: Mapping[str, Tokenizer]) -> None:
        super().__init__(vocabularies)
        self.tables, self.lstms = nn.ModuleDict(), nn.ModuleDict()
        for kind in vocabularies:
            self.tables[kind] = self.table(kind, _SIZE)
            self.lstms[kind] = nn.LSTM(_SIZE, _HIDDEN, batch_first=True)
        self.dense = nn.Linear(_HIDDEN, _HIDDEN)
        self.attention = nn.Linear(_HIDDEN, 1, bias=False)

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
