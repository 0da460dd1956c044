"""What CodeSearchNet's joint embeddings share.

Husain et al. 2019, section 4, and the code published with it. Theirs has a code encoder for each of
six languages and one query encoder for all; here code is Python. Their vocabulary is half of whole
tokens and half of pieces of at most 8 characters; here byte-pair encoding learns both. Their texts
are all filled to the full length, and convolutions see what fills them; here no filling is seen.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding, pad

from tasks.encoders import Kind
from tasks.training.models import Features
from tasks.training.models._layers import TokenModel, WeightedMean
from tasks.training.models._text import PADDING
from tasks.training.recipes import Recipe

SIZE = 128
DROPOUT = 0.1

RECIPE = Recipe(
    name="codesearchnet",
    source="Husain et al. 2019, CodeSearchNet, and its code",
    similarity="product",
    epochs=500,
    batch_size=1000,
    learning_rate=0.01,
    schedule="constant",
    query_length=30,
    code_length=200,
    metric="MRR",
    dev_codes="own",
    patience=5,
    names_as_queries=0.1,
    seed=0,
)


class CodeSearchNetModel(TokenModel):
    """Vectors of tokens, layers over them, and their learned weighted mean, for each side.

    Attributes:
        table_dropout: Share of the table's numbers that a training step leaves out.
    """

    min_count = 10
    pieces = True
    table_dropout: ClassVar[float] = DROPOUT

    def __init__(self, vocabularies: Mapping[str, Tokenizer]) -> None:
        super().__init__(vocabularies)
        self.sides = nn.ModuleDict({kind: self._side(kind) for kind in self.fields})

    def _side(self, kind: Kind) -> nn.Module:
        length = (self.vocabularies[kind].truncation or {})["max_length"]
        return _Side(self.table(kind, SIZE), self.layers(length), self.table_dropout)

    def layers(self, _length: int, /) -> nn.Module:
        """Return what maps token vectors and their mask to other vectors; by default to the same.

        Args:
            _length: The most tokens of a text.
        """
        return Unchanged()

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return SIZE

    def forward(self, features: Features, kind: Kind) -> Tensor:
        """Return (texts, 128) vectors."""
        found: Tensor = self.sides[kind](features[kind])
        return found


class _Side(nn.Module):
    def __init__(self, table: nn.Embedding, layers: nn.Module, table_dropout: float) -> None:
        super().__init__()
        self.table = table
        nn.init.xavier_uniform_(table.weight)
        self.layers = layers
        self.pool = WeightedMean(SIZE)
        self.table_dropout = table_dropout

    def forward(self, tokens: Tensor) -> Tensor:
        mask = tokens != PADDING
        table = dropout(self.table.weight, self.table_dropout, self.training)
        found: Tensor = self.pool(self.layers(embedding(tokens, table), mask), mask)
        return found


class Unchanged(nn.Module):
    """Token vectors as they are."""

    def forward(self, vectors: Tensor, _mask: Tensor) -> Tensor:
        """Return (texts, tokens, 128)."""
        return vectors


class Convolutions(nn.Module):
    """Convolutions with tanh, from the second on added to what they are computed from.

    Args:
        layers: Their number.
        width: Tokens that each sees.
        length: The most tokens of a text, to learn a vector for each place; 0 learns none.
    """

    def __init__(self, layers: int, width: int, length: int = 0) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.empty(length, SIZE)) if length else None
        if self.places is not None:
            nn.init.trunc_normal_(self.places, std=0.02, a=-0.04, b=0.04)
        self.layers = nn.ModuleList(nn.Conv1d(SIZE, SIZE, width) for _ in range(layers))
        self.around = ((width - 1) // 2, width // 2)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return (texts, tokens, 128)."""
        if self.places is not None:
            vectors = vectors + self.places[: vectors.shape[1]]
        for number, layer in enumerate(self.layers):
            seen = (vectors * mask.unsqueeze(2)).transpose(1, 2)
            found = layer(pad(seen, self.around)).transpose(1, 2)
            vectors = torch.tanh(found + vectors if number else found)
            vectors = dropout(vectors, DROPOUT, self.training)
        return vectors


class SelfAttention(nn.Module):
    """BERT's layers: 8 heads, 512 hidden units, learned places; no pooling.

    Args:
        layers: Their number.
        length: The most tokens of a text.
    """

    def __init__(self, layers: int, length: int) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.empty(length, SIZE))
        self.norm = nn.LayerNorm(SIZE)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(SIZE, 8, 512, DROPOUT, "gelu", batch_first=True)
            for _ in range(layers)
        )
        for weights in self.parameters():
            if weights.dim() > 1:
                nn.init.trunc_normal_(weights, std=0.02, a=-0.04, b=0.04)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return (texts, tokens, 128)."""
        vectors = self.norm(vectors + self.places[: vectors.shape[1]])
        vectors = dropout(vectors, DROPOUT, self.training)
        for layer in self.layers:
            vectors = layer(vectors, src_key_padding_mask=~mask)
        return vectors
