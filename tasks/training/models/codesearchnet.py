"""CodeSearchNet's joint embeddings, a model for each of its encoders.

Husain et al. 2019, section 4, and the code published with it: one query encoder, and a code encoder
for each language of the training code, all trained together. A text's language is that of its
syntax, and code of a language without an encoder is read by that of the most frequent language.
Their vocabulary is half whole tokens and half pieces of at most 8 characters; here byte-pair
encoding learns both. Their convolutions see the padding; here no layer does.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Self

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding, pad

from infra.languages import language_of
from tasks.encoders import Kind
from tasks.training.joint import Features
from tasks.training.model_text import PADDING, code_tokens, ids, query_tokens, vocabulary
from tasks.training.models import models
from tasks.training.models._layers import BidirectionalLstm, TokenModel
from tasks.training.recipes import Recipe

SIZE = 128
DROPOUT = 0.1
_MAIN = "code"  # the field of the most frequent language; of others it has their name behind
_LEAST_SHARE = 0.01
_RECIPE = Recipe(
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

    recipe = _RECIPE
    dimension = SIZE
    min_count = 10
    pieces = True
    table_dropout: ClassVar[float] = DROPOUT  # share of a table's numbers left out in a step

    @classmethod
    def of(cls, queries: Sequence[str], codes: Sequence[str], recipe: Recipe) -> Self:
        """Return a model with an encoder of queries and one for each language of the codes.

        The encoder of the most frequent language comes first. A language with less than a hundredth
        of the code has none of its own: a few texts whose syntax says little would make one that is
        trained on nothing.
        """
        length = recipe.code_length
        vocabularies = {"query": cls._vocabulary(map(query_tokens, queries), recipe.query_length)}
        languages = [*map(_language, codes)]
        times = Counter(filter(None, languages))
        main = min(times, key=lambda name: (-times[name], name), default="")
        own = {name for name, n in times.items() if _LEAST_SHARE * len(codes) <= n} - {main}
        found: dict[str, list[str]] = {_MAIN: [], **{f"{_MAIN}-{name}": [] for name in sorted(own)}}
        for code, name in zip(codes, languages, strict=True):
            found[f"{_MAIN}-{name}" if name in own else _MAIN].append(code)
        for field, texts in found.items():
            vocabularies[field] = cls._vocabulary(map(code_tokens, texts), length)
        return cls._made(vocabularies, recipe.seed)

    @classmethod
    def _vocabulary(cls, texts: Iterable[list[str]], length: int) -> Tokenizer:
        return vocabulary(texts, length, cls.min_count, pieces=cls.pieces)

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
        """Return the layers over token vectors and their mask, for texts of a length."""
        return ()

    def features(self, texts: Sequence[str], kind: Kind) -> dict[str, Tensor]:
        """Return ids of tokens, and with several code encoders the rows of each."""
        if kind == "query" or len(self.vocabularies) == len(self.fields):
            return super().features(texts, kind)
        rows: dict[str, list[int]] = {}
        for row, text in enumerate(texts):
            own = f"{_MAIN}-{_language(text)}"
            rows.setdefault(own if own in self.vocabularies else _MAIN, []).append(row)
        found = {}
        for field, some in rows.items():
            tokens = [code_tokens(texts[row]) for row in some]
            found[field] = torch.tensor(ids(self.vocabularies[field], tokens))
            found[f"{field} rows"] = torch.tensor(some)
        return found

    def forward(self, features: Features, kind: Kind) -> Tensor:
        """Return (texts, 128) vectors."""
        if kind in features and f"{kind} rows" not in features:
            return self._encoded(features[kind], kind)
        fields = [field for field in self.vocabularies if field in features]
        rows = torch.cat([features[f"{field} rows"] for field in fields])
        vectors = torch.cat([self._encoded(features[field], field) for field in fields])
        return vectors[rows.argsort()]

    def _encoded(self, tokens: Tensor, field: str) -> Tensor:
        mask = tokens != PADDING
        table = dropout(self.tables[field], self.table_dropout, self.training)
        vectors = embedding(tokens, table)
        for layer in self.layers[field].children():
            vectors = layer(vectors, mask)
        found: Tensor = self.pools[field](vectors, mask)
        return found


@lru_cache(1 << 16)
def _language(code: str) -> str:
    """Return a code's language, cached for the next epochs."""
    language = language_of(code)
    return language.name if language else ""


class Convolutions(nn.Module):
    """Convolutions with tanh; the second and later ones have residual connections.

    With a length, the most tokens of a text, learned position vectors are added first.
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


class WeightedMean(nn.Module):
    """The mean of a text's tokens, weighted by the sigmoid of a learned product (CodeSearchNet)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weigh = nn.Linear(size, 1, bias=False)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return (texts, size)."""
        weights: Tensor = self.weigh(vectors).sigmoid() * mask.unsqueeze(2)
        return (vectors * weights).sum(1) / (weights.sum(1) + 1e-8)


@models.register("neural-bag-of-words")
class NeuralBagOfWords(CodeSearchNetModel):
    """No layers; the own code's cosine must exceed the nearest other one's by a margin."""

    recipe = _RECIPE.model_copy(update={"loss": "hardest-margin", "similarity": "cosine"})


@models.register("cnn")
class Cnn(CodeSearchNetModel):
    """3 convolutions of width 16 over token vectors and learned places."""

    recipe = _RECIPE.model_copy(update={"learning_rate": 5e-4})

    def layers_for(self, length: int, /) -> list[Convolutions]:
        """Return the convolutions."""
        return [Convolutions(3, 16, length)]


@models.register("rnn")
class Rnn(CodeSearchNetModel):
    """2 layers of 64 LSTM units in each direction, whose outputs keep 0.8."""

    def layers_for(self, _length: int, /) -> list[BidirectionalLstm]:
        """Return the LSTM."""
        return [BidirectionalLstm(SIZE, SIZE // 2, layers=2, dropout=0.2)]


@models.register("self-attention")
class SelfAttentionModel(CodeSearchNetModel):
    """3 layers of a small BERT."""

    recipe = _RECIPE.model_copy(update={"learning_rate": 5e-4, "batch_size": 450})
    table_dropout = 0.0  # BERT drops out behind its first norm

    def layers_for(self, length: int, /) -> list[SelfAttention]:
        """Return BERT's layers."""
        return [SelfAttention(3, length)]


@models.register("cnn-self-attention")
class CnnSelfAttention(CodeSearchNetModel):
    """2 convolutions of width 8, then 2 layers of a small BERT."""

    recipe = _RECIPE.model_copy(update={"learning_rate": 5e-4, "batch_size": 650})

    def layers_for(self, length: int, /) -> list[nn.Module]:
        """Return convolutions and BERT's layers."""
        return [Convolutions(2, 8), SelfAttention(2, length)]
