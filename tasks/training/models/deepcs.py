"""DeepCS: a code's name, calls and words, each encoded by itself and then fused (Gu et al. 2018).

The paper reads Java and its API's methods; here it is Python and all names that are called.
"""

from collections.abc import Mapping
from keyword import kwlist
from typing import ClassVar

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.functional import dropout

from tasks.encoders import Kind
from tasks.training.models import Features, models
from tasks.training.models._layers import BidirectionalLstm, TokenModel, max_pooled
from tasks.training.models._text import PADDING, calls, name_words, words
from tasks.training.recipes import Recipe

_SIZE, _HIDDEN, _FUSED = 100, 200, 400
_DROPOUT = 0.25
_KEYWORDS = frozenset(word.lower() for word in kwlist)


def _bag(code: str) -> list[str]:
    """Return each word of a code once, without Python's keywords."""
    return [word for word in dict.fromkeys(words(code)) if word not in _KEYWORDS]


@models.register("deepcs")
class DeepCs(TokenModel):
    """Name, calls and query by a bidirectional LSTM, words by a dense layer; all by their maximum.

    What the code published with the paper adds is here: dropout, and tanh behind each maximum.
    """

    recipe: ClassVar[Recipe] = Recipe(
        name="deepcs",
        source="Gu et al. 2018, Deep Code Search, and its code; 500 epochs of Guo et al., KAPE",
        loss="random-margin",
        margin=0.05,
        epochs=500,
        batch_size=128,
        learning_rate=1e-3,
        schedule="constant",
        query_length=30,
        code_length=50,
        metric="MRR",
        dev_codes="own",
    )
    fields: ClassVar = {
        "query": {"query": words},
        "code": {"name": name_words, "calls": calls, "code": _bag},
    }
    lengths: ClassVar = {"name": 6, "calls": 30}

    def __init__(self, vocabularies: Mapping[str, Tokenizer]) -> None:
        super().__init__(vocabularies)
        self.tables = nn.ModuleDict({field: self.table(field, _SIZE) for field in vocabularies})
        self.lstms = nn.ModuleDict(
            {
                field: BidirectionalLstm(_SIZE, _HIDDEN, dropout=_DROPOUT)
                for field in vocabularies
                if field != "code"
            }
        )
        self.bag = nn.Linear(_SIZE, _SIZE)
        self.fuse = nn.Linear(2 * 2 * _HIDDEN + _SIZE, _FUSED)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return _FUSED

    def forward(self, features: Features, kind: Kind) -> Tensor:
        """Return (texts, 400) vectors."""
        if kind == "query":
            return self._pooled("query", features)
        parts = [self._pooled(field, features) for field in self.fields[kind]]
        return torch.tanh(self.fuse(torch.cat(parts, 1)))

    def _pooled(self, field: str, features: Features) -> Tensor:
        mask = features[field] != PADDING
        vectors = dropout(self.tables[field](features[field]), _DROPOUT, self.training)
        if field == "code":
            vectors = torch.tanh(self.bag(vectors))
        else:
            vectors = self.lstms[field](vectors, mask)
        return torch.tanh(max_pooled(vectors, mask))
