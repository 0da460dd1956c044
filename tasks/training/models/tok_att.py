"""Tok-Att: an LSTM over tokens alone, with attention over code.

A baseline of Wan et al. 2019 (MMAN), whose other inputs it leaves out, and of KAPE's appendix.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from tasks.encoders import Kind
from tasks.training.models import Features, models
from tasks.training.models._layers import TokenModel, attended
from tasks.training.models._text import PADDING, words
from tasks.training.recipes import Recipe

_SIZE, _HIDDEN = 300, 512


@models.register("tok-att")
class TokAtt(TokenModel):
    """A code is the mean of an LSTM's outputs by attention, a query the LSTM's last output."""

    recipe: ClassVar[Recipe] = Recipe(
        name="tok-att",
        source="Wan et al. 2019, MMAN; margin, batch and rate of Gu et al. 2018; 500 epochs of "
        "Guo et al., KAPE",
        loss="random-margin",
        margin=0.05,
        epochs=500,
        batch_size=128,
        learning_rate=1e-3,
        schedule="constant",
        query_length=30,
        code_length=100,
        metric="MRR",
        dev_codes="own",
    )
    fields: ClassVar = {"query": {"query": words}, "code": {"code": words}}

    def __init__(self, vocabularies: Mapping[str, Tokenizer]) -> None:
        super().__init__(vocabularies)
        self.tables = nn.ModuleDict({field: self.table(field, _SIZE) for field in vocabularies})
        self.lstms = nn.ModuleDict(
            {field: nn.LSTM(_SIZE, _HIDDEN, batch_first=True) for field in vocabularies}
        )
        self.dense = nn.Linear(_HIDDEN, _HIDDEN)
        self.attention = nn.Linear(_HIDDEN, 1, bias=False)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return _HIDDEN

    def forward(self, features: Features, kind: Kind) -> Tensor:
        """Return (texts, 512) vectors."""
        mask = features[kind] != PADDING
        outputs, _ = self.lstms[kind](self.tables[kind](features[kind]))
        if kind == "query":
            last = mask.sum(1) - 1
            found: Tensor = outputs[torch.arange(len(last), device=last.device), last]
            return found
        scores = self.attention(torch.tanh(self.dense(outputs))).squeeze(2)
        return attended(outputs, scores, mask)
