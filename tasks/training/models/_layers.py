"""A model over ids of tokens, and the layers that several models have.

Vectors of tokens are (texts, tokens, size), their mask is (texts, tokens) and false where a text is
filled. Each text has at least one token, and is filled at its end.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from infra.errors import EncoderError
from tasks.encoders import Kind
from tasks.training.models import JointModel
from tasks.training.models._text import PADDING, Split, code_tokens, ids, query_tokens, vocabulary
from tasks.training.recipes import Recipe

WEIGHTS = "model.safetensors"
_VOCABULARY_SIZE = 10_000


class TokenModel(JointModel):
    """A model whose texts have one or more fields of tokens, each with a vocabulary of its own.

    Attributes:
        fields: Kind of text → its fields, each with what splits a text into the field's tokens.
        lengths: The most tokens of fields that have not the recipe's length for the kind.
        min_count: How often a token must occur to be in a vocabulary.
        pieces: Whether rarer tokens are cut into pieces.
    """

    fields: ClassVar[Mapping[Kind, Mapping[str, Split]]] = {
        "query": {"query": query_tokens},
        "code": {"code": code_tokens},
    }
    lengths: ClassVar[Mapping[str, int]] = {}
    min_count: ClassVar[int] = 1
    pieces: ClassVar[bool] = False

    def __init__(self, vocabularies: Mapping[str, Tokenizer]) -> None:
        super().__init__()
        self.vocabularies = vocabularies

    @classmethod
    def of(cls, queries: Sequence[str], codes: Sequence[str], recipe: Recipe) -> Self:
        """Return a model with the vocabulary of these texts, and random weights by the seed."""
        texts = {"query": (queries, recipe.query_length), "code": (codes, recipe.code_length)}
        vocabularies = {
            field: vocabulary(
                (split(text) for text in texts[kind][0]),
                cls.lengths.get(field, texts[kind][1]),
                _VOCABULARY_SIZE,
                cls.min_count,
                pieces=cls.pieces,
            )
            for kind, fields in cls.fields.items()
            for field, split in fields.items()
        }
        return cls._made(vocabularies, recipe.seed)

    @classmethod
    def _made(cls, vocabularies: Mapping[str, Tokenizer], seed: int) -> Self:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(vocabularies)

    def features(self, texts: Sequence[str], kind: Kind) -> dict[str, Tensor]:
        """Return a (texts, tokens) tensor of ids for each field."""
        return {
            field: torch.tensor(ids(self.vocabularies[field], [split(text) for text in texts]))
            for field, split in self.fields[kind].items()
        }

    def save(self, folder: Path) -> None:
        """Write ``model.safetensors``, and the vocabulary of each field as ``FIELD.json``."""
        save_weights(self, folder)
        for field, tokenizer in self.vocabularies.items():
            tokenizer.save(str(folder / f"{field}.json"))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that `save` wrote.

        Raises:
            EncoderError: A file lacks or is damaged.
        """
        with reading(folder):
            vocabularies = {
                field: read_vocabulary(folder / f"{field}.json")
                for fields in cls.fields.values()
                for field in fields
            }
            model = cls._made(vocabularies, 0)
            load_weights(model, folder)
        return model

    def table(self, field: str, size: int) -> nn.Embedding:
        """Return a table with a vector of that size for each entry of a field's vocabulary."""
        return nn.Embedding(self.vocabularies[field].get_vocab_size(), size, PADDING)


def save_weights(model: nn.Module, folder: Path) -> None:
    """Write a model's weights into a folder."""
    save_file(model.state_dict(), folder / WEIGHTS)


def load_weights(model: nn.Module, folder: Path) -> None:
    """Read the weights that `save_weights` wrote."""
    model.load_state_dict(load_file(folder / WEIGHTS))


def read_vocabulary(path: Path) -> Tokenizer:
    """Return a vocabulary from its file.

    Raises:
        ValueError: It is damaged.
    """
    text = path.read_text("utf-8")
    try:
        return Tokenizer.from_str(text)
    except Exception as error:  # tokenizers raises no narrower one
        raise ValueError(f"{path.name}: {error}") from error


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Say of whatever fails while a model is read that its folder is damaged."""
    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise EncoderError(f"{folder} holds no such model, or a damaged one: {error}") from error


class WeightedMean(nn.Module):
    """The mean of a text's tokens, weighted by the sigmoid of a learned product (CodeSearchNet)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weigh = nn.Linear(size, 1, bias=False)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return (texts, size)."""
        weights: Tensor = self.weigh(vectors).sigmoid() * mask.unsqueeze(2)
        return (vectors * weights).sum(1) / (weights.sum(1) + 1e-8)


class BidirectionalLstm(nn.Module):
    """Two stacks of LSTM layers, one from each end, which do not see each other (TensorFlow 1)."""

    def __init__(self, size: int, hidden: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.forth = nn.LSTM(size, hidden, layers, batch_first=True, dropout=between)
        self.back = nn.LSTM(size, hidden, layers, batch_first=True, dropout=between)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Return (texts, tokens, 2 x hidden)."""
        places = torch.arange(mask.shape[1], device=mask.device)
        turned = torch.where(mask, mask.sum(1, keepdim=True) - 1 - places, places).unsqueeze(2)
        back, _ = self.back(vectors.take_along_dim(turned, 1))
        forth, _ = self.forth(vectors)
        found: Tensor = self.dropout(torch.cat([forth, back.take_along_dim(turned, 1)], 2))
        return found


def attended(vectors: Tensor, scores: Tensor, mask: Tensor) -> Tensor:
    """Return (texts, size) means of tokens, weighted by the softmax of (texts, tokens) scores."""
    weights = scores.masked_fill(~mask, -torch.inf).softmax(1)
    return (vectors * weights.unsqueeze(2)).sum(1)


def max_pooled(vectors: Tensor, mask: Tensor) -> Tensor:
    """Return (texts, size), the greatest of each coordinate over a text's tokens."""
    return vectors.masked_fill(~mask.unsqueeze(2), -torch.inf).amax(1)
