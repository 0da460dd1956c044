"""What CodeSearchNet's joint embeddings share.

Husain et al. 2019, section 4, and the code published with it. Theirs has a code encoder for each of
six languages and one query encoder for all; here code is Python. Their vocabulary is half of whole
tokens and half of pieces of at most 8 characters; here byte-pair encoding learns both. Their texts
are all filled to the full length, and convolutions see what fills them; here no filling is seen.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding, pad

from tasks.encoders import Kind
from tasks.training.models._joint import Features
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
    """Vectors of tokens, layers over them, and their learned weighted mean, for each side."""

    recipe = RECIPE
    dimension = SIZE
    min_count = 10
    pieces = True
    table_dropout: ClassVar[float] = DROPOUT  # share of a table's numbers left out in a step

    def __init__(self, vocabularies: Mapping[str, Tokenizer]) -> None:
        super().__init__(vocabularies)
        self.tables, self.layers, self.pools = nn.ParameterDict(), nn.ModuleDict(), nn.ModuleDict()
        for kind, tokenizer in vocabularies.items():
            table = torch.empty(tokenizer.get_vocab_size(), SIZE)
            self.tables[kind] = nn.Parameter(nn.init.xavier_uniform_(table))
            length = (tokenizer.truncation or {})["max_length"]
            self.layers[kind] = nn.ModuleList(self.layers_for(length))
            self.pools[kind] = WeightedMean(SIZE)

    def layers_for(self, _length: int, /) -> Sequence[nn.Module]:
        """Return what each maps token vectors and their mask to others, for texts of a length."""
        return ()

    def forward(self, features: Features, kind: Kind) -> Tensor:
        """Return (texts, 128) vectors."""
        mask = features[kind] != PADDING
        table = dropout(self.tables[kind], self.table_dropout, self.training)
        vectors = embedding(features[kind], table)
        for layer in self.layers[kind].children():
            vectors = layer(vectors, mask)
        found: Tensor = self.pools[kind](vectors, mask)
        return found


class Convolutions(nn.Module):
    """Convolutions with tanh, from the second on added to what they are computed from.

    With a length, the most tokens of a text, a vector for each place is learned and added first.
    """

    def __init__(self, layers: int, width: int, length: int = 0) -> None:
        super().__init__()
        self.places = _places(length) if length else None
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
    """BERT's layers: 8 heads, 512 hidden units, learned places; no pooling."""

    def __init__(self, layers: int, length: int) -> None:
        super().__init__()
        self.places = _places(length)
        self.norm = nn.LayerNorm(SIZE)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(SIZE, 8, 512, DROPOUT, "gelu", batch_first=True)
            for _ in range(layers)
        )
        for weights in self.layers.parameters():
            if weights.dim() > 1:
                nn.init.trunc_normal_(weights, std=0.02, a=-0.04, b=0.04)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return (texts, tokens, 128)."""
        vectors = self.norm(vectors + self.places[: vectors.shape[1]])
        vectors = dropout(vectors, DROPOUT, self.training)
        for layer in self.layers:
            vectors = layer(vectors, src_key_padding_mask=~mask)
        return vectors


def _places(length: int) -> nn.Parameter:
    return nn.Parameter(nn.init.trunc_normal_(torch.empty(length, SIZE), std=0.02, a=-0.04, b=0.04))
